/** A proxy between a client and PostgreSQL that can lose the answer to a commit. */
import { once } from 'node:events'
import { connect as connectTo, createServer, type Socket } from 'node:net'

export interface CuttingProxy {
  /** The server's address, through the proxy. */
  readonly address: string
  /** How many commits were cut. */
  readonly cuts: number
  /**
   * Breaks the connection of the next commit: before the server has seen it, or after the server has answered and
   * before the client has. Nobody else gets through until `meanwhile` is over.
   */
  cutNextCommit(when: 'before' | 'after', meanwhile?: () => Promise<void>): void
  close(): Promise<void>
}

const COMMIT = Buffer.from('COMMIT')

export async function startCuttingProxy(address: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(address)
  const sockets = new Set<Socket>()
  let next: { when: 'before' | 'after'; meanwhile: () => Promise<void> } | undefined
  let isClosed = false
  let cuts = 0
  const server = createServer((client) => {
    if (isClosed) return void client.destroy()
    const upstream = connectTo(Number(port), hostname)
    let then: (() => Promise<void>) | undefined
    const cut = () => {
      cuts++
      for (const socket of sockets) socket.destroy()
      isClosed = true
      void then?.().finally(() => {
        isClosed = false
      })
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (chunk: Buffer) => {
      if (next !== undefined && chunk.includes(COMMIT)) {
        const { when, meanwhile } = next
        then = meanwhile
        next = undefined
        if (when === 'before') return cut()
      }
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      if (then !== undefined) cut()
      else client.write(chunk)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const own = (server.address() as { port: number }).port
  return {
    address: address.replace(`${hostname}:${port}`, `127.0.0.1:${own}`),
    get cuts() {
      return cuts
    },
    cutNextCommit(when, meanwhile = async () => {}) {
      next = { when, meanwhile }
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
