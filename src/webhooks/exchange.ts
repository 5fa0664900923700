import type { Socket } from 'node:net'
import type { Client, Dispatcher } from 'undici'
import { TargetError } from './guard.ts'
import { MAX_RESPONSE_BODY_BYTES, type ResponseBytes, ResponseError } from './response-bytes.ts'

/** An undici client with one connection, which is opened on demand and carries one exchange at a time. */
export interface ReceiverConnection {
  readonly client: Client
  socket: Socket | undefined
  bytes: ResponseBytes | undefined
  /** Completed exchanges on the current socket. */
  exchanges: number
  /** Whether the request is still to be sent once the connection is open. */
  isWanted: () => boolean
}

interface ResponseHead {
  /** The beginning of the head: the status line and the headers after it. */
  readonly text: string
  readonly status: number
  readonly retryAfter: string | undefined
}

export type ExchangeResult =
  | {
      readonly kind: 'answered'
      readonly head: ResponseHead
      /** The beginning of the body; null if there is none. */
      readonly body: string | null
      /** Whether the body was read to its end, so that the connection can be reused. */
      readonly isComplete: boolean
    }
  | { readonly kind: 'failed'; readonly error: string }
  /** The receiver closed an idle connection before it answered anything, so the request may be sent again. */
  | { readonly kind: 'stale' }

export interface Exchange {
  /** Undefined until the receiver has answered. */
  readonly head: ResponseHead | undefined
}

const STORED_BODY_BYTES = 1_024
const STORED_HEAD_CHARACTERS = 1_024

/**
 * Sends one request and calls `onResult` once. The status counts even if something goes wrong with the body after it.
 */
export function startExchange(
  connection: ReceiverConnection,
  request: Dispatcher.DispatchOptions,
  onResult: (result: ExchangeResult) => void,
): Exchange {
  let head: ResponseHead | undefined
  let stored = Buffer.alloc(0)
  let bodyBytes = 0
  const answered = (answer: ResponseHead, isComplete: boolean): ExchangeResult => {
    const body = stored.length === 0 ? null : stored.toString('utf8')
    return { kind: 'answered', head: answer, body, isComplete }
  }
  connection.bytes?.begin()
  connection.client.dispatch(request, {
    onRequestStart() {},
    onResponseStart(controller, status, headers, statusText = '') {
      if (status < 200) {
        controller.abort(new ResponseError(`the answer has the status ${status}`))
        return
      }
      connection.bytes?.headComplete()
      const retryAfter = headers['retry-after']
      head = {
        text: headText(status, statusText, controller.rawHeaders as readonly Buffer[]),
        status,
        retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
      }
    },
    onResponseData(controller, chunk) {
      if (stored.length < STORED_BODY_BYTES) {
        stored = Buffer.concat([stored, chunk.subarray(0, STORED_BODY_BYTES - stored.length)])
      }
      bodyBytes += chunk.length
      if (bodyBytes > MAX_RESPONSE_BODY_BYTES) controller.abort(new ResponseError('the body is too long'))
    },
    onResponseEnd() {
      connection.exchanges++
      if (head !== undefined) onResult(answered(head, true))
    },
    onResponseError(_controller, error) {
      if (head !== undefined) onResult(answered(head, false))
      else if (isStale(connection, error)) onResult({ kind: 'stale' })
      else onResult({ kind: 'failed', error: errorText(error) })
    },
  })
  return {
    get head() {
      return head
    },
  }
}

function headText(status: number, statusText: string, rawHeaders: readonly Buffer[]): string {
  let text = `HTTP/1.1 ${status} ${statusText}`
  for (let index = 0; index + 1 < rawHeaders.length && text.length < STORED_HEAD_CHARACTERS; index += 2) {
    text += `\r\n${rawHeaders[index]?.toString('latin1')}: ${rawHeaders[index + 1]?.toString('latin1')}`
  }
  return text.slice(0, STORED_HEAD_CHARACTERS)
}

const CLOSED_CODES = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

function isStale({ exchanges, bytes }: ReceiverConnection, error: NodeJS.ErrnoException): boolean {
  return exchanges > 0 && bytes?.count === 0 && CLOSED_CODES.has(error.code ?? '')
}

/** What the owner of the webhook reads about an exchange that failed. */
function errorText(error: NodeJS.ErrnoException): string {
  // If several addresses were tried, the first failure stands for all.
  const inner = error.cause instanceof AggregateError ? error.cause : error
  const first: NodeJS.ErrnoException = inner instanceof AggregateError ? inner.errors[0] : inner
  if (first instanceof TargetError) return `target refused: ${first.message}`
  if (first instanceof ResponseError) return `not understood: ${first.message}`
  const code = first.code ?? error.code ?? 'unknown'
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return 'not understood: the head is too long'
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
    return 'not understood: the length of the body is not clear'
  }
  if (first.name === 'HTTPParserError' || (code === 'UND_ERR_SOCKET' && first.message.startsWith('bad '))) {
    return 'not understood: the answer is not HTTP/1.1'
  }
  // undici has no specific code for a closed connection.
  return `connection failed: ${code.startsWith('UND_ERR') ? 'ECONNRESET' : code}`
}
