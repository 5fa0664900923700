/**
 * How the sandbox is reached. Everything that listens is an `Endpoint`, which answers requests and sockets without
 * knowing the network. `Listen` puts it on a loopback port or on the simulated network of a test.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { ignoreSocketErrors } from '../../src/kit/socket-errors.ts'
import { readBody, startHttpServer, urlOf } from './http.ts'

export interface RestRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** Read only for POST. */
  readonly body: string
}

export interface RestAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface UpgradeRequest {
  readonly url: URL
  readonly headers: IncomingHttpHeaders
}

export type UpgradeDecision =
  | 'cut'
  /** The HTTP status line, such as `404 Not Found`. */
  | { readonly refuse: string }
  | { accept(socket: ServerSocket): void }

/** One end of a WebSocket, as far as the sandbox uses it; a socket of `ws` fits. It never answers pings by itself. */
export interface ServerSocket {
  readonly readyState: number
  readonly bufferedAmount: number
  /** Sends text as a text frame and bytes as a binary one. */
  send(data: string | Buffer): void
  ping(data?: string): void
  pong(data?: Buffer): void
  close(code?: number, reason?: string): void
  terminate(): void
  on(event: 'message', listener: (data: Buffer, isBinary: boolean) => void): unknown
  on(event: 'ping' | 'pong', listener: (data: Buffer) => void): unknown
  on(event: 'close', listener: (code: number, reason: Buffer) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
}

/** The `readyState` of a socket that accepts frames. */
export const SOCKET_OPEN = 1

export interface Endpoint {
  /** `cut` resets the connection, and so does any thrown error; `hang` never answers. */
  answer(request: RestRequest): Promise<RestAnswer | 'cut' | 'hang'>
  /** If omitted, upgrades are cut. */
  upgrade?(request: UpgradeRequest): UpgradeDecision
  /** A socket that sends a longer message is closed. */
  readonly maxMessageBytes?: number
}

interface Listener {
  readonly port: number
  /** Cuts every connection. */
  close(): Promise<void>
}

/** Port 0 means any free port. */
export type Listen = (endpoint: Endpoint, port: number) => Promise<Listener>

const MAX_MESSAGE_BYTES = 262_144

export const listenOnLoopback: Listen = async (endpoint, port) => {
  // A hanging venue does not answer pings, so pongs are left to the endpoint.
  const sockets = new WebSocketServer({
    noServer: true,
    autoPong: false,
    perMessageDeflate: false,
    maxPayload: endpoint.maxMessageBytes ?? MAX_MESSAGE_BYTES,
  })
  const http = await startHttpServer({
    port,
    handle: (incoming, response) => serve(endpoint, incoming, response),
    upgrade(request, wire, head) {
      ignoreSocketErrors(wire)
      const decision = endpoint.upgrade?.({ url: urlOf(request), headers: request.headers }) ?? 'cut'
      if (decision === 'cut') return void wire.destroy()
      if ('refuse' in decision)
        return void wire.end(`HTTP/1.1 ${decision.refuse}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
      sockets.handleUpgrade(request, wire, head, (ws) => {
        ignoreSocketErrors(ws)
        decision.accept(new LoopbackSocket(ws, wire))
      })
    },
  })
  return {
    port: http.port,
    async close() {
      for (const ws of sockets.clients) ws.terminate()
      await http.close()
    },
  }
}

async function serve(endpoint: Endpoint, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = urlOf(incoming)
  const answer = await endpoint.answer({
    method: incoming.method ?? 'GET',
    path: pathname,
    query: searchParams,
    headers: incoming.headers,
    body: incoming.method === 'POST' ? await readBody(incoming) : '',
  })
  if (answer === 'cut') return void incoming.socket.destroy()
  if (answer === 'hang') return
  response.writeHead(answer.status, answer.headers)
  response.end(answer.body)
}

/**
 * The frames of one tick leave together, after the frames of all sockets were built, so that many frames take few
 * packets.
 */
class LoopbackSocket implements ServerSocket {
  readonly #ws: WebSocket
  readonly #wire: Duplex
  #isHeld = false
  readonly #release = () => {
    this.#isHeld = false
    this.#wire.uncork()
  }

  constructor(ws: WebSocket, wire: Duplex) {
    this.#ws = ws
    this.#wire = wire
  }

  get readyState(): number {
    return this.#ws.readyState
  }

  get bufferedAmount(): number {
    return this.#ws.bufferedAmount
  }

  send(data: string | Buffer): void {
    if (!this.#isHeld) {
      this.#isHeld = true
      this.#wire.cork()
      process.nextTick(this.#release)
    }
    this.#ws.send(data)
  }

  ping(data?: string): void {
    this.#ws.ping(data)
  }

  pong(data?: Buffer): void {
    this.#ws.pong(data)
  }

  close(code?: number, reason?: string): void {
    this.#ws.close(code, reason)
  }

  terminate(): void {
    this.#ws.terminate()
  }

  // biome-ignore lint/suspicious/noExplicitAny: the overloads of `ServerSocket` say which listener goes with an event
  on(event: string, listener: (...values: any[]) => void): this {
    this.#ws.on(event, listener)
    return this
  }
}
