import { connect, type Socket } from 'node:net'

/**
 * A lean client: keep-alive connections that each send the next request when the last answer is complete. It parses
 * no more than necessary, so that it measures the server and not itself. It speaks HTTP/1.1 unless another wire is
 * given (`socket-wire.ts`).
 */
export interface LoadResult {
  requestsPerSecond: number
  statuses: Map<number, number>
  /** Milliseconds, ascending. */
  latenciesMs: number[]
}

/** How requests and answers look on a connection. */
export interface Wire {
  /** The request that opens a connection; its answer ends with an empty line. */
  readonly greeting?: string
  /** The length of the answer that these bytes begin with; undefined while that is not known. */
  answerLength(bytes: Buffer): number | undefined
  status(bytes: Buffer): number
}

export interface LoadOptions {
  port: number
  connections: number
  durationMs: number
  /** The raw request of connection `index`'s n-th turn. */
  request: (index: number, turn: number) => string | Buffer
  wire?: Wire
  /** How long each connection waits after an answer on average; randomly between half and one and a half times this. */
  pauseMs?: number
}

export function httpGet(path: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries({ Host: '127.0.0.1', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

export function httpPost(path: string, body: string, headers: Record<string, string> = {}): string {
  const all = {
    Host: '127.0.0.1',
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

export async function load(options: LoadOptions): Promise<LoadResult> {
  const statuses = new Map<number, number>()
  const latenciesMs: number[] = []
  const endsAt = performance.now() + options.durationMs
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: options.connections }, (_, index) =>
      drive(options, index, endsAt, (status, ms) => {
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        latenciesMs.push(ms)
      }),
    ),
  )
  const seconds = (performance.now() - startedAt) / 1000
  latenciesMs.sort((a, b) => a - b)
  return { requestsPerSecond: latenciesMs.length / seconds, statuses, latenciesMs }
}

const HEAD_END = '\r\n\r\n'

const httpWire: Wire = {
  answerLength(bytes) {
    const end = bytes.indexOf(HEAD_END)
    if (end === -1) return undefined
    const length = /\r\ncontent-length: (\d+)/i.exec(bytes.toString('latin1', 0, end))
    return end + HEAD_END.length + (length === null ? 0 : Number(length[1]))
  },
  status: (bytes) => Number(bytes.toString('latin1', 9, 12)),
}

function drive(
  options: LoadOptions,
  index: number,
  endsAt: number,
  done: (status: number, ms: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const { wire = httpWire } = options
    const socket: Socket = connect(options.port, '127.0.0.1')
    socket.setNoDelay(true)
    let greeted = wire.greeting === undefined
    let turn = 0
    let sentAt = 0
    let pending: Buffer[] = []
    let received = 0
    let expected: number | undefined
    let status = 0
    const send = () => {
      sentAt = performance.now()
      socket.write(options.request(index, turn++))
    }
    socket.on('connect', () => (wire.greeting === undefined ? send() : socket.write(wire.greeting)))
    socket.on('error', reject)
    socket.on('close', () => resolve())
    socket.on('data', (data) => {
      const chunk = data as Buffer
      received += chunk.length
      if (expected === undefined) {
        pending.push(chunk)
        const head = pending.length === 1 ? chunk : Buffer.concat(pending)
        expected = greeted ? wire.answerLength(head) : greetingLength(head)
        if (expected === undefined) return
        status = wire.status(head)
      }
      if (received < expected) return
      pending = []
      received = 0
      expected = undefined
      if (!greeted) {
        greeted = true
        send()
        return
      }
      done(status, performance.now() - sentAt)
      if (performance.now() >= endsAt) socket.destroy()
      else if (options.pauseMs === undefined) send()
      else setTimeout(send, options.pauseMs * (0.5 + Math.random()))
    })
  })
}

function greetingLength(bytes: Buffer): number | undefined {
  const end = bytes.indexOf(HEAD_END)
  return end === -1 ? undefined : end + HEAD_END.length
}
