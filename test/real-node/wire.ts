/** A proxy between two nodes whose connection can be cut and restored. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Wire {
  /** Where the one node connects to in order to reach the other. */
  readonly port: number
  cut(): void
  mend(): void
  close(): Promise<void>
}

export async function startWire(toPort: number): Promise<Wire> {
  const open = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    if (isCut) return void near.destroy()
    const far = connect(toPort, '127.0.0.1')
    for (const [side, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(side)
      side.on('error', () => other.destroy())
      side.on('close', () => {
        open.delete(side)
        other.destroy()
      })
      side.pipe(other)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const drop = () => {
    for (const socket of open) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true
      drop()
    },
    mend() {
      isCut = false
    },
    close() {
      drop()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
