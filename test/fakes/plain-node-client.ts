/** A bare wRPC JSON client for tests: sends texts and keeps what it receives. */
import { WebSocket } from 'ws'
import { parseExact } from '../../sandbox/node/rpc/json.ts'

interface WrpcAnswer {
  id?: number | bigint
  method: string
  params?: Record<string, unknown>
  error?: { code: number; message: string; data: unknown }
}

export interface PlainClient {
  socket: WebSocket
  /** Every frame in order of arrival, as text, unless the caller takes notifications itself. */
  frames: string[]
  /** Resolves when the connection is gone. */
  closed: Promise<void>
  send(text: string): void
  /** The answer, even if it is a refusal. */
  ask(method: string, params?: unknown): Promise<WrpcAnswer>
  /** The result; throws on a refusal. */
  call(method: string, params?: unknown): Promise<Record<string, unknown>>
  close(): void
}

export async function plainClient(
  url: string,
  onNotification?: (method: string, params: Record<string, unknown>) => void,
): Promise<PlainClient> {
  const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 256 * 1024 * 1024 })
  const frames: string[] = []
  const waiting = new Map<string, (answer: WrpcAnswer) => void>()
  let nextId = 1
  socket.on('message', (data: Buffer) => {
    const text = data.toString('utf8')
    const answer = parseExact(text) as WrpcAnswer
    if (onNotification === undefined) frames.push(text)
    else if (answer.id === undefined) onNotification(answer.method, answer.params ?? {})
    if (answer.id === undefined) return
    waiting.get(String(answer.id))?.(answer)
    waiting.delete(String(answer.id))
  })
  const closed = new Promise<void>((resolve) => void socket.on('close', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  socket.on('error', () => socket.terminate())
  const ask = (method: string, params: unknown = {}) =>
    new Promise<WrpcAnswer>((resolve, reject) => {
      const id = nextId++
      waiting.set(String(id), resolve)
      socket.send(stringify({ id, method, params }))
      void closed.then(() => reject(new Error('the connection is gone')))
    })
  return {
    socket,
    frames,
    closed,
    send: (text) => socket.send(text),
    ask,
    async call(method, params) {
      const answer = await ask(method, params)
      if (answer.error !== undefined) throw new Error(answer.error.message)
      return answer.params ?? {}
    },
    close: () => socket.terminate(),
  }
}

/** With bigint as numbers, exactly. */
export function stringify(value: unknown): string {
  const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }
  return JSON.stringify(value, (_key, found: unknown) =>
    typeof found === 'bigint' ? rawJSON(String(found)) : found,
  )
}
