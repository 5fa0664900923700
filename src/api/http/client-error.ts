import type { Socket } from 'node:net'
import { lastAnswer } from './last-answer.ts'

/** How long a client has to read its answer and close its side. */
const CLOSE_WITHIN_MS = 1_000

/**
 * Answers bytes that are not a complete HTTP request, and closes the connection. Ending our side is not enough: as long
 * as the client keeps its side open, the request would stay unfinished and its body in memory.
 *
 * @param isInAnswer whether an earlier answer is only partly written, so that the client would take this one for the
 * rest of it; the connection is then only closed
 */
export function answerClientError(
  error: Error & { code?: string },
  socket: Socket,
  requestId: string,
  isInAnswer = false,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable || isInAnswer) {
    socket.destroy()
    return
  }
  const { status, message } = describe(error.code)
  socket.end(lastAnswer(clientErrorReply(status, message, requestId), requestId))
  const cut = setTimeout(() => socket.destroy(), CLOSE_WITHIN_MS).unref()
  socket.once('close', () => clearTimeout(cut))
}

/** Refuses what is not a request of HTTP or WebSocket, with a status of these protocols. */
export function clientErrorReply(status: number, message: string, requestId: string) {
  const headers = ['Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'no-store']
  return { status, headers, body: JSON.stringify({ error: 'invalid_param', message, request_id: requestId }) }
}

function describe(code: string | undefined): { status: 400 | 408 | 431; message: string } {
  if (code === 'HPE_HEADER_OVERFLOW') return { status: 431, message: 'The headers are too large.' }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, message: 'The request took too long to arrive.' }
  return { status: 400, message: 'This is not a readable HTTP request.' }
}
