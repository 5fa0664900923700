/** A stream client that records what it received. */
import { WebSocket } from 'ws'
import { until } from '../until.ts'

export interface Frame {
  type: string
  id?: string
  code?: string
  seq?: number
  event?: { id: string; seq: number; kind: string; addresses: string[]; data: Record<string, unknown> }
  [field: string]: unknown
}

export interface StreamClient {
  readonly frames: Frame[]
  readonly events: NonNullable<Frame['event']>[]
  readonly closed: Promise<{ code: number; reason: string }>
  readonly socket: WebSocket
  send(message: object | string): void
  /** The first frame of that type that was not returned yet. */
  next(type: string, limitMs?: number): Promise<Frame>
  /** Disconnects without a closing handshake. */
  cut(): void
  close(): void
}

export function connectStream(
  baseUrl: string,
  key: string | undefined,
  options: { header?: boolean; onEvent?: (event: NonNullable<Frame['event']>) => void } = {},
): StreamClient {
  const url = `${baseUrl.replace('http', 'ws')}/v1/ws`
  const socket =
    options.header === true
      ? new WebSocket(url, { headers: { 'X-API-Key': key ?? '' } })
      : new WebSocket(key === undefined ? url : `${url}?api_key=${key}`)
  const frames: Frame[] = []
  const events: NonNullable<Frame['event']>[] = []
  const asked = new Set<Frame>()
  const waiting: string[] = []
  socket.on('open', () => {
    for (const text of waiting.splice(0)) socket.send(text)
  })
  socket.on('error', () => {})
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString('utf8')) as Frame
    if (frame.event === undefined) frames.push(frame)
    else {
      events.push(frame.event)
      options.onEvent?.(frame.event)
    }
  })
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => resolve({ code, reason: reason.toString('utf8') }))
  })
  return {
    frames,
    events,
    closed,
    socket,
    send(message) {
      const text = typeof message === 'string' ? message : JSON.stringify(message)
      if (socket.readyState === WebSocket.OPEN) socket.send(text)
      else waiting.push(text)
    },
    async next(type, limitMs = 60_000) {
      const find = () => frames.find((frame) => frame.type === type && !asked.has(frame))
      const isClosed = () => socket.readyState === WebSocket.CLOSED
      await until(`a frame ${type}`, () => find() !== undefined || isClosed(), limitMs)
      const frame = find()
      if (frame === undefined) throw new Error(`closed without a frame ${type}`)
      asked.add(frame)
      return frame
    },
    cut: () => socket.terminate(),
    close: () => socket.close(),
  }
}
