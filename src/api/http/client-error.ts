import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'

/** Answers bytes that are not an HTTP request, and closes the connection. */
export function answerClientError(error: Error & { code?: string }, socket: Socket, requestId: string): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, message } = describe(error.code)
  const body = clientErrorBody(message, requestId)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Cache-Control: no-store',
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

export function clientErrorBody(message: string, requestId: string): string {
  return JSON.stringify({ error: 'invalid_param', message, request_id: requestId })
}

function describe(code: string | undefined): { status: 400 | 408 | 431; message: string } {
  if (code === 'HPE_HEADER_OVERFLOW') return { status: 431, message: 'The headers are too large.' }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, message: 'The request took too long to arrive.' }
  return { status: 400, message: 'This is not a readable HTTP request.' }
}
