import { WebSocket } from 'ws'
import type { LoadResult } from './load.ts'

/** Calls over the node's own socket: the limit that a proxied call is compared with. */
export async function directLoad(options: {
  url: string
  sockets: number
  /** Calls in flight, spread over the sockets. */
  inFlight: number
  durationMs: number
  method: string
  /** How long each caller waits after an answer. */
  pauseMs?: number
}): Promise<LoadResult> {
  const { pauseMs = 0 } = options
  const latenciesMs: number[] = []
  const startedAt = performance.now()
  const endsAt = startedAt + options.durationMs
  const sockets = await Promise.all(Array.from({ length: options.sockets }, () => open(options.url)))
  let nextId = 1
  const waiting = new Map<number, () => void>()
  for (const socket of sockets) {
    socket.on('message', (data: Buffer) => {
      const text = data.toString('latin1', 0, 40)
      const id = Number(/"id":(\d+)/.exec(text)?.[1])
      const done = waiting.get(id)
      waiting.delete(id)
      done?.()
    })
  }
  const caller = async (index: number) => {
    const socket = sockets[index % sockets.length]
    while (performance.now() < endsAt) {
      const id = nextId++
      const sentAt = performance.now()
      await new Promise<void>((resolve) => {
        waiting.set(id, resolve)
        socket?.send(`{"id":${id},"method":"${options.method}","params":{}}`)
      })
      latenciesMs.push(performance.now() - sentAt)
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
  await Promise.all(Array.from({ length: options.inFlight }, (_, index) => caller(index)))
  const seconds = (performance.now() - startedAt) / 1000
  for (const socket of sockets) socket.terminate()
  latenciesMs.sort((a, b) => a - b)
  return { requestsPerSecond: latenciesMs.length / seconds, statuses: new Map(), latenciesMs }
}

function open(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url, { perMessageDeflate: false })
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(socket))
    socket.once('error', reject)
  })
}
