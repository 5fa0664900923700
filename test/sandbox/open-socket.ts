/** A client socket for tests that keeps every frame it gets. */
import { WebSocket } from 'ws'

export type Json = Record<string, unknown>

export interface TestSocket {
  readonly socket: WebSocket
  /** Raw text of every frame so far. */
  readonly texts: string[]
  /** The frames that are JSON, parsed; an array counts as its elements. */
  frames(): Json[]
  send(value: unknown): void
  /** Resolves with the first frame, already there or to come, that fits. */
  waitFor(fits: (frame: Json) => boolean, limitMs?: number): Promise<Json>
  /** Resolves with the close code. */
  readonly closed: Promise<number>
  close(): void
}

export async function openSocket(
  url: string,
  options: { headers?: Record<string, string>; autoPong?: boolean } = {},
): Promise<TestSocket> {
  const socket = new WebSocket(url, {
    headers: options.headers ?? {},
    autoPong: options.autoPong ?? true,
    perMessageDeflate: false,
  })
  const texts: string[] = []
  const parsed: Json[] = []
  const waiting = new Set<() => void>()
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  socket.on('message', (data) => {
    const text = data.toString()
    texts.push(text)
    try {
      const value = JSON.parse(text) as Json | Json[]
      parsed.push(...(Array.isArray(value) ? value : [value]))
    } catch {
      // PONG and broken frames stay in `texts` only.
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
    waitFor(fits, limitMs = 60_000) {
      return new Promise((resolve, reject) => {
        let seen = 0
        const timer = setTimeout(() => {
          waiting.delete(look)
          const last = texts.at(-1)?.slice(0, 200)
          reject(new Error(`no such frame within ${limitMs} ms; ${texts.length} frames, last: ${last}`))
        }, limitMs)
        const look = () => {
          for (; seen < parsed.length; seen++) {
            const frame = parsed[seen] as Json
            if (!fits(frame)) continue
            clearTimeout(timer)
            waiting.delete(look)
            resolve(frame)
            return
          }
        }
        waiting.add(look)
        look()
      })
    },
    closed,
    close: () => socket.terminate(),
  }
}
