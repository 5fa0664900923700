import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { AnswerError, type AnswerHead, createAnswerReader } from './read-answer.ts'

/**
 * One connection to a receiver. It carries one request at a time and is kept between them.
 *
 *   opening ──▶ busy ──answer complete──▶ idle ──send──▶ busy …
 *                 └── broken, cut off, or not to be used again ──▶ closed
 */
export interface Connection {
  /** Writes a request and tells what came of it, once. */
  send(request: string, tell: (outcome: Outcome) => void): void
  /** Ends it, whatever is under way. */
  destroy(): void
  /** Whether another request can be sent on it. */
  readonly idle: boolean
  readonly usedBefore: boolean
  /** When an idle connection is to be given up. */
  readonly idleUntilMs: number
  /** What the receiver has answered so far. */
  readonly head: AnswerHead | undefined
}

export type Outcome =
  | { readonly head: AnswerHead; readonly beginning: string | null }
  /** `untouched`: it ended before any of the answer was there. */
  | { readonly error: NodeJS.ErrnoException; readonly untouched: boolean }

export interface Origin {
  readonly secure: boolean
  readonly host: string
  readonly port: number
  readonly lookup: LookupFunction
  /** The last TLS session, so that the next handshake is short. */
  session: Buffer | undefined
}

const IDLE_MS = 20_000
/** Given up before the receiver does it, so that no request meets a connection that is just closed. */
const IDLE_MARGIN_MS = 1_000

export function openConnection(origin: Origin, onIdle: (connection: Connection) => void): Connection {
  const socket = open(origin)
  let reader = createAnswerReader()
  let tell: ((outcome: Outcome) => void) | undefined
  let answers = 0
  let touched = false
  let closed = false
  let idleUntilMs = 0
  let ready = !origin.secure
  let waiting = ''

  const finish = (outcome: Outcome) => {
    const told = tell
    tell = undefined
    told?.(outcome)
  }
  const fail = (error: NodeJS.ErrnoException) => {
    closed = true
    socket.destroy()
    finish({ error, untouched: !touched })
  }
  const complete = (head: AnswerHead) => {
    answers++
    const beginning = reader.beginning()
    // An answer that came before the request was out leaves the rest of it on the way.
    if (head.reusable && !closed && socket.writableLength === 0) {
      idleUntilMs = performance.now() + Math.min(IDLE_MS, (head.keptForMs ?? IDLE_MS) - IDLE_MARGIN_MS)
      reader = createAnswerReader()
      touched = false
      finish({ head, beginning })
      if (tell === undefined) onIdle(connection)
    } else {
      closed = true
      socket.destroy()
      finish({ head, beginning })
    }
  }

  socket.on('data', (chunk: Buffer) => {
    // An idle connection has nothing to say.
    if (tell === undefined) return fail(new AnswerError('an answer without a request'))
    touched = true
    let isComplete: boolean
    try {
      isComplete = reader.read(chunk)
    } catch (error) {
      const { head } = reader
      // The status stands, whatever is wrong with the body; the connection does not.
      if (head === undefined) fail(error as Error)
      else complete({ ...head, reusable: false })
      return
    }
    if (isComplete && reader.head !== undefined) complete(reader.head)
  })
  socket.on('end', () => {
    const { head } = reader
    if (tell !== undefined && head !== undefined) complete({ ...head, reusable: false })
    else fail(Object.assign(new Error('the connection ended'), { code: 'ECONNRESET' }))
  })
  socket.on('error', fail)
  socket.on('close', () => fail(Object.assign(new Error('the connection ended'), { code: 'ECONNRESET' })))
  if (origin.secure) {
    // Nothing is written before the receiver has shown who it is.
    socket.on('secureConnect', () => {
      ready = true
      if (waiting !== '') socket.write(waiting)
      waiting = ''
    })
    socket.on('session', (session: Buffer) => {
      origin.session = session
    })
  }

  const connection: Connection = {
    send(request, told) {
      tell = told
      if (closed) fail(Object.assign(new Error('the connection ended'), { code: 'ECONNRESET' }))
      else if (ready) socket.write(request)
      else waiting = request
    },
    destroy() {
      closed = true
      socket.destroy()
    },
    get idle() {
      return !closed && tell === undefined
    },
    get usedBefore() {
      return answers > 0
    },
    get idleUntilMs() {
      return idleUntilMs
    },
    get head() {
      return reader.head
    },
  }
  return connection
}

function open({ secure, host, port, lookup, session }: Origin): Socket | TLSSocket {
  const socket = secure
    ? connectTls({
        host,
        port,
        lookup,
        ...(isIP(host) === 0 ? { servername: host } : {}),
        ...(session === undefined ? {} : { session }),
        ALPNProtocols: ['http/1.1'],
      })
    : connectTcp({ host, port, lookup })
  socket.setNoDelay(true)
  return socket
}
