/**
 * HTTP without the framework for plain requests (docs/fast-http.md). Parsing such a request ourselves and writing its
 * answer in one piece costs half of what Node's parser, request and response objects cost.
 *
 *   waiting ──plain request to a known path──▶ answering ──answer written──▶ waiting
 *      └──anything else──▶ handed over for good to Node's HTTP server, with all bytes read so far
 *
 * Only a request that has arrived completely is answered here, so there is no half-read state that could hang. The next
 * request on the connection waits until the answer is written. A client that has closed only its own side gets all its
 * answers before we close ours.
 */
import type { Server } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'
import { ignoreSocketErrors } from '../../kit/socket-errors.ts'
import { isTurnSpent, nextTurn } from '../../kit/time-slices.ts'
import { INTERIM_ANSWER, whenHalfClosed } from './half-closed.ts'
import { connectionEvent } from './parse-in-turns.ts'
import { type PlainHead, plainHeadReader } from './plain-head.ts'
import { keepAliveHeaders, type ResponseWriter, SocketResponseWriter } from './response-writer.ts'
import { splitTarget } from './target.ts'

/** Ends the response exactly once, now or later; never throws. */
export type FastHandler = (
  head: PlainHead,
  body: Buffer | undefined,
  from: { readonly socket: Socket; readonly response: ResponseWriter },
) => void

export interface FastHttp {
  /** Idle connections are closed at once, others after their next answer. */
  close(): void
  cut(): void
}

export interface FastHttpOptions {
  /** Undefined for requests that are not answered here, such as one with a body that is too long for its path. */
  readonly find: (method: PlainHead['method'], path: string, bodyBytes: number) => FastHandler | undefined
  readonly maxBodyBytes: number
  readonly keepAliveMs: number
  readonly now: () => number
}

interface Connection {
  readonly socket: Socket
  isBusy(): boolean
}

export function openFastHttp(server: Server | SecureServer, options: FastHttpOptions): FastHttp {
  const begins = connectionEvent(server)
  const platform = server.listeners(begins)
  const connections = new Set<Connection>()
  const keepAlive = keepAliveHeaders(options.keepAliveMs, options.now)
  let isClosing = false

  function accept(socket: Socket): void {
    let isBusy = false
    let isTurning = false
    /** The client has closed its side, so nothing more will arrive. */
    let hasEnded = false
    let response: SocketResponseWriter | undefined
    const readHead = plainHeadReader()
    const connection: Connection = { socket, isBusy: () => isBusy }

    function take(arrived: Buffer): void {
      isTurning = true
      let rest: Buffer | undefined
      // Bytes after the last answer of a closing connection are dropped, because nobody would get an answer to them.
      for (
        let bytes: Buffer | undefined = arrived;
        bytes !== undefined && !isBusy && !socket.writableEnded;
      ) {
        const head = readHead(bytes)
        const handler = head && options.find(head.method, splitTarget(head.target).path, head.bodyBytes)
        const whole = head === undefined ? 0 : head.headBytes + head.bodyBytes
        if (head === undefined || handler === undefined || whole > bytes.length || isTooLong(head)) {
          handOver(bytes)
          break
        }
        rest = bytes.length > whole ? bytes.subarray(whole) : undefined
        isBusy = true
        const body = head.bodyBytes === 0 ? undefined : bytes.subarray(head.headBytes, whole)
        response = new SocketResponseWriter(socket, keepAlive, onAnswered)
        handler(head, body, { socket, response })
        if (isBusy) continue
        bytes = rest
        if (rest !== undefined && isTurnSpent()) giveWay()
      }
      isTurning = false
      if (isBusy && rest !== undefined) putBack(rest)
    }

    /** One read of the socket can contain thousands of requests, so other connections get their turn in between. */
    function giveWay(): void {
      isBusy = true
      void nextTurn().then(turn)
    }

    /** Bytes after the current request wait in the socket, followed by the client's FIN. */
    function putBack(bytes: Buffer): void {
      socket.pause()
      socket.unshift(bytes)
    }

    function onAnswered(): void {
      // A client that sends requests faster than it reads answers has to wait here.
      if (socket.writableNeedDrain && socket.writableLength > 0) socket.once('drain', turn)
      else turn()
    }

    function turn(): void {
      isBusy = false
      if (isClosing || hasEnded) socket.end()
      else if (!isTurning && socket.isPaused()) {
        if (isTurnSpent()) giveWay()
        else socket.resume()
      }
    }

    function onData(chunk: Buffer): void {
      if (isBusy) putBack(chunk)
      else take(chunk)
    }

    function onEnd(): void {
      hasEnded = true
      if (isBusy) whenHalfClosed(probe)
      else socket.end()
    }

    function probe(): void {
      if (isBusy && response?.hasBegun === false && !socket.destroyed) socket.write(INTERIM_ANSWER)
    }

    /** The client has sent no request, or read nothing, for the whole timeout. */
    function onTimeout(): void {
      if (!isBusy || socket.writableLength > 0) socket.destroy()
    }

    function onClose(): void {
      connections.delete(connection)
    }

    function handOver(bytes: Buffer): void {
      connections.delete(connection)
      socket.off('data', onData)
      socket.off('end', onEnd)
      socket.off('timeout', onTimeout)
      socket.off('close', onClose)
      socket.setTimeout(0)
      socket.unshift(bytes)
      for (const listener of platform) listener.call(server, socket)
    }

    ignoreSocketErrors(socket)
    connections.add(connection)
    socket.setTimeout(options.keepAliveMs)
    socket.on('data', onData)
    socket.on('end', onEnd)
    socket.on('timeout', onTimeout)
    socket.on('close', onClose)
  }

  function isTooLong(head: PlainHead): boolean {
    return head.bodyBytes > options.maxBodyBytes
  }

  server.removeAllListeners(begins)
  server.on(begins, accept)

  return {
    close() {
      isClosing = true
      keepAlive.close()
      for (const { socket, isBusy } of connections) if (!isBusy()) socket.end()
    },
    cut() {
      for (const { socket } of connections) socket.destroy()
    },
  }
}
