/**
 * Between a client and the service: answers 429 and 503 by itself, cuts connections before and inside an answer, delays
 * answers, and cuts streams. What it does is drawn from the seed. It remembers what the service charged, also for
 * answers that did not arrive.
 */
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { portOf } from './port-of.ts'

const FAULTS = ['429', '503', 'cut before', 'cut inside', 'slow'] as const
type Fault = (typeof FAULTS)[number] | 'none'
/** Well below any limit of a client. */
const SLOW_MS = 200

export interface FaultProxy {
  readonly url: string
  /** How often each fault was made. */
  readonly counts: Record<Fault, number>
  /** What the service charged for answers other than these, which the client got; by their request id. */
  readonly lostCredits: (received: readonly string[]) => number
  /** Whether the service has answered everything. */
  readonly isIdle: () => boolean
  /** Streams are cut until there were as many. */
  cutStreams(cuts: number): void
  readonly streamCuts: () => number
  close(): Promise<void>
}

/** Fewer than the attempts of a client, so that each call succeeds in the end. */
const MAX_FAULTS_IN_A_ROW = 4

export async function startFaultProxy(options: {
  target: string
  random: () => number
  /** Share of requests with a fault. */
  faults?: number
}): Promise<FaultProxy> {
  const { random, faults = 0.33 } = options
  const target = new URL(options.target)
  const counts = Object.fromEntries(['none', ...FAULTS].map((fault) => [fault, 0])) as Record<Fault, number>
  const inARow = new Map<string, number>()
  const sockets = new Set<Socket | Duplex>()
  const charged = new Map<string, number>()
  let inFlight = 0
  let cutsLeft = 0
  let streamCuts = 0

  function draw(call: string): Fault {
    const before = inARow.get(call) ?? 0
    const isFault = before < MAX_FAULTS_IN_A_ROW && random() < faults
    const at = Math.floor(random() * FAULTS.length)
    const fault = (isFault ? FAULTS[at] : undefined) ?? 'none'
    inARow.set(call, isFault ? before + 1 : 0)
    counts[fault] += 1
    return fault
  }

  const server = createServer((request, response) => {
    const fault = draw(`${request.method} ${request.url} ${request.headers['x-api-key']}`)
    if (fault === '429' || fault === '503') return refuse(request, response, fault)
    if (fault === 'cut before') {
      request.socket.destroy()
      return
    }
    forward(request, response, fault)
  })
  server.keepAliveTimeout = 0

  function refuse(request: IncomingMessage, response: ServerResponse, fault: '429' | '503'): void {
    request.resume()
    // With and without a time to wait, in the service's form and in a proxy's.
    const isPlain = random() < 0.5
    response.writeHead(
      Number(fault),
      isPlain ? { 'Retry-After': '0' } : { 'Content-Type': 'application/json', 'Retry-After': '0' },
    )
    response.end(
      isPlain
        ? '<html>busy</html>'
        : JSON.stringify({
            error: fault === '429' ? 'rate_limited' : 'upstream_unavailable',
            message: 'Later.',
            request_id: 'req_proxy',
          }),
    )
  }

  function forward(request: IncomingMessage, response: ServerResponse, fault: Fault): void {
    const onward = send(
      {
        host: target.hostname,
        port: target.port,
        method: request.method,
        path: request.url,
        headers: { ...request.headers, connection: 'close' },
        // A connection that is kept may be closed by the other side at the same moment: a cut that nobody drew.
        agent: false,
      },
      (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => {
          charged.set(String(answer.headers['x-request-id']), Number(answer.headers['x-credits-used'] ?? 0))
          const body = Buffer.concat(chunks)
          const delayMs = fault === 'slow' ? SLOW_MS : 0
          const timer = setTimeout(() => reply(response, answer, body, fault), delayMs)
          response.on('close', () => clearTimeout(timer))
        })
      },
    )
    inFlight += 1
    onward.on('close', () => {
      inFlight -= 1
    })
    onward.on('error', () => response.destroy())
    request.pipe(onward)
  }

  function reply(response: ServerResponse, answer: IncomingMessage, body: Buffer, fault: Fault): void {
    // As a proxy may: the length is known, whatever the service did.
    const { 'transfer-encoding': _, connection: __, ...headers } = answer.headers
    response.writeHead(answer.statusCode ?? 502, { ...headers, 'content-length': body.length })
    if (fault !== 'cut inside') {
      response.end(body)
      return
    }
    response.flushHeaders()
    response.write(body.subarray(0, Math.floor(body.length * random())), () => response.destroy())
  }

  server.on('upgrade', (request, socket, head) => {
    const onward = connect(Number(target.port), target.hostname)
    for (const each of [socket, onward]) {
      sockets.add(each)
      each.on('error', () => {})
      each.on('close', () => {
        sockets.delete(each)
        socket.destroy()
        onward.destroy()
      })
    }
    const lines = [`${request.method} ${request.url} HTTP/1.1`]
    for (let n = 0; n < request.rawHeaders.length; n += 2)
      lines.push(`${request.rawHeaders[n]}: ${request.rawHeaders[n + 1]}`)
    onward.write(`${lines.join('\r\n')}\r\n\r\n`)
    onward.write(head)
    socket.pipe(onward)
    let bytesLeft = cutsLeft > 0 ? 300 + Math.floor(random() * 4_000) : Number.POSITIVE_INFINITY
    onward.on('data', (chunk: Buffer) => {
      const part = chunk.subarray(0, bytesLeft)
      bytesLeft -= part.length
      socket.write(part)
      if (bytesLeft > 0) return
      bytesLeft = Number.POSITIVE_INFINITY
      cutsLeft -= 1
      streamCuts += 1
      onward.destroy()
    })
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    counts,
    lostCredits: (received) => {
      const got = new Set(received)
      return [...charged].reduce((sum, [id, credits]) => (got.has(id) ? sum : sum + credits), 0)
    },
    isIdle: () => inFlight === 0,
    cutStreams: (cuts) => {
      cutsLeft = cuts
    },
    streamCuts: () => streamCuts,
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
