/** Loopback stand-ins: an HTTP and WebSocket server that follows a script, and a clock that runs faster. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Clock } from '../../src/kit/clock.ts'
import type { DataObservation, Observation } from '../../src/venues/observation.ts'
import type { LiveSession } from '../../src/venues/venue.ts'

export interface Visit {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly socket: WebSocket
  readonly received: string[]
  isOpen: boolean
}

export interface Asked {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** What a request is answered with: a status and a value, or the value alone. */
export type Answer = { status: number; body: unknown } | object | string | null

export interface Loopback {
  readonly http: string
  readonly ws: string
  readonly visits: Visit[]
  readonly asked: Asked[]
  open(): Visit[]
  send(message: unknown): void
  close(): Promise<void>
}

export async function startLoopback(
  script: {
    answer?: (asked: Asked) => Answer | undefined
    /** False refuses the upgrade with 401. */
    admit?: (request: IncomingMessage) => boolean
    onOpen?: (visit: Visit) => void
    onMessage?: (visit: Visit, text: string) => void
  } = {},
): Promise<Loopback> {
  const visits: Visit[] = []
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const url = new URL(request.url ?? '/', 'http://loopback')
    const sent = { method: request.method ?? '', url, headers: request.headers, body }
    asked.push(sent)
    const answer = script.answer?.(sent)
    const isPlain = typeof answer !== 'object' || answer === null || !('status' in answer && 'body' in answer)
    const status = answer === undefined ? 404 : isPlain ? 200 : Number(answer.status)
    const value = answer === undefined ? { error: 'not found' } : isPlain ? answer : answer.body
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof value === 'string' ? value : JSON.stringify(value))
  })
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, stream, head) => {
    stream.on('error', () => {})
    if (script.admit?.(request) === false) {
      stream.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
      return
    }
    sockets.handleUpgrade(request, stream, head, (socket) => {
      const visit: Visit = {
        path: request.url ?? '',
        headers: request.headers,
        socket,
        received: [],
        isOpen: true,
      }
      visits.push(visit)
      socket.on('error', () => {})
      const beat = setInterval(() => socket.ping('heartbeat'), 300)
      socket.on('close', () => {
        clearInterval(beat)
        visit.isOpen = false
      })
      socket.on('message', (data) => {
        const text = data.toString()
        visit.received.push(text)
        if (text === 'PING') socket.send('PONG')
        else script.onMessage?.(visit, text)
      })
      script.onOpen?.(visit)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const open = () => visits.filter((visit) => visit.isOpen)
  return {
    http: `http://${host}`,
    ws: `ws://${host}`,
    visits,
    asked,
    open,
    send(message) {
      const text = typeof message === 'string' ? message : JSON.stringify(message)
      for (const visit of open()) visit.socket.send(text)
    },
    async close() {
      for (const visit of visits) visit.socket.terminate()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

/** A clock that starts at an instant and runs this many times faster than real time. */
export function fastClock(startMs: number, speed: number): Clock {
  const beginMs = performance.now()
  return {
    now: () => Math.floor(startMs + (performance.now() - beginMs) * speed),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const timer = setTimeout(() => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        }, ms / speed)
        const onAbort = () => {
          clearTimeout(timer)
          reject(signal?.reason)
        }
        signal?.addEventListener('abort', onAbort, { once: true })
      }),
  }
}

export interface Received {
  readonly all: Observation[]
  of<K extends Observation['kind']>(kind: K): Extract<Observation, { kind: K }>[]
  /** The newest of a kind for an instrument. */
  last<K extends DataObservation['kind']>(
    kind: K,
    instrument: string,
  ): Extract<DataObservation, { kind: K }> | undefined
  until(holds: () => boolean, what: string, withinMs?: number): Promise<void>
  close(): Promise<void>
}

export function collect(session: LiveSession): Received {
  const all: Observation[] = []
  const reading = (async () => {
    for await (const observation of session) all.push(observation)
  })()
  const of = <K extends Observation['kind']>(kind: K) =>
    all.filter((each): each is Extract<Observation, { kind: K }> => each.kind === kind)
  return {
    all,
    of,
    last: (kind, instrument) =>
      all.findLast(
        (each): each is Extract<DataObservation, { kind: typeof kind }> =>
          each.kind === kind && 'instrument' in each && each.instrument === instrument,
      ),
    async until(holds, what, withinMs = 60_000) {
      const endMs = performance.now() + withinMs
      while (!holds()) {
        if (performance.now() > endMs) {
          const tail = all
            .slice(-8)
            .map((each) =>
              JSON.stringify(each, (_, value) => (typeof value === 'bigint' ? `${value}` : value)).slice(
                0,
                300,
              ),
            )
          throw new Error(`not within ${withinMs} ms: ${what}; last received:\n${tail.join('\n')}`)
        }
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    },
    async close() {
      await session.close()
      await reading
    },
  }
}
