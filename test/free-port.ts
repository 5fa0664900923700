import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that operating systems assign automatically, so that no other program gets one of these. */
const LOWEST = 20_000
const COUNT = 10_000

/** A port for a program that opens it a moment later, or again after a restart. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * COUNT)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
