/** A proxy between a client and PostgreSQL that can stop forwarding: connections stay open, but nothing arrives. */
import { once } from 'node:events'
import { connect as connectTo, createServer, type Socket } from 'node:net'

export interface HoldingProxy {
  /** The server's address, through the proxy. */
  readonly address: string
  hold(): void
  /** Forwards what was held, as after a network disturbance. */
  letGo(): void
  /** Breaks all connections; new ones are possible. */
  cut(): void
  close(): Promise<void>
}

export async function startHoldingProxy(address: string): Promise<HoldingProxy> {
  const { hostname, port } = new URL(address)
  const sockets = new Set<Socket>()
  let isHeld = false
  const server = createServer((client) => {
    const upstream = connectTo(Number(port), hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.on('data', (chunk) => to.write(chunk))
      if (isHeld) from.pause()
    }
  })
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const own = (server.address() as { port: number }).port
  return {
    address: address.replace(`${hostname}:${port}`, `127.0.0.1:${own}`),
    hold() {
      isHeld = true
      for (const socket of sockets) socket.pause()
    },
    letGo() {
      isHeld = false
      for (const socket of sockets) socket.resume()
    },
    cut,
    async close() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}
