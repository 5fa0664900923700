/** The plainest possible client of the sandbox, for tests: it keeps every frame it gets. */
import { WebSocket } from 'ws'

export interface Probe {
  readonly socket: WebSocket
  /** Raw text of every frame so far. */
  readonly texts: string[]
  /** The frames that are JSON, parsed. */
  frames(): Record<string, unknown>[]
  send(value: unknown): void
  /** Resolves with the first frame, already there or to come, that fits. */
  waitFor(
    fits: (frame: Record<string, unknown>) => boolean,
    limitMs?: number,
  ): Promise<Record<string, unknown>>
  /** Resolves with the close code. */
  readonly closed: Promise<number>
  close(): void
}

export async function openProbe(url: string, options: { autoPong?: boolean } = {}): Promise<Probe> {
  const socket = new WebSocket(url, { autoPong: options.autoPong ?? true, perMessageDeflate: false })
  const texts: string[] = []
  const parsed: Record<string, unknown>[] = []
  const waiting = new Set<() => void>()
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  socket.on('message', (data) => {
    const text = data.toString()
    texts.push(text)
    try {
      parsed.push(JSON.parse(text) as Record<string, unknown>)
    } catch {
      // A malformed frame stays in `texts` only.
    }
    for (const look of [...waiting]) look()
  })
  await new Promise<void>((resolve, reject) => {
    socket.on('open', () => resolve())
    socket.on('error', reject)
  })
  return {
    socket,
    texts,
    frames: () => parsed,
    send: (value) => socket.send(typeof value === 'string' ? value : JSON.stringify(value)),
    waitFor(fits, limitMs = 8_000) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(look)
          reject(
            new Error(
              `no such frame within ${limitMs} ms; ${texts.length} frames, last: ${texts.at(-1)?.slice(0, 200)}`,
            ),
          )
        }, limitMs)
        const look = () => {
          const found = parsed.find(fits)
          if (found === undefined) return
          clearTimeout(timer)
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      })
    },
    closed,
    close: () => socket.terminate(),
  }
}
