import type { IncomingHttpHeaders } from 'node:http'
import type { GateReply } from '../../gate/request.ts'
import type { UnreadAnswers } from '../../gate/unread-answers.ts'
import type { Cors } from './cors.ts'
import type { ResponseWriter } from './response-writer.ts'
import { lengthOf, sendReply } from './send.ts'
import type { Vary } from './vary.ts'
import { whenRead } from './when-read.ts'

/** Smaller amounts are not counted, because the socket emits no event when they have been sent. */
const MIN_HELD_BYTES = 65_536

/** Writes an answer, and counts the part of it that stays in memory as unread by its account. */
export function sendCounted(
  request: { readonly method: string; readonly headers: IncomingHttpHeaders },
  response: ResponseWriter,
  answer: GateReply,
  context: { requestId: string; cors: Cors; vary: Vary; unread: UnreadAnswers },
): void | Promise<void> {
  const { requestId, cors, vary, unread } = context
  const { readBy, body } = answer
  if (readBy === undefined) return sendReply(request, response, answer, { requestId, cors, vary })
  const hold = () => unread.hold(readBy, lengthOf(body))
  const holdRest = () => {
    const bytes = response.writableLength
    if (bytes <= MIN_HELD_BYTES || response.destroyed) return
    whenRead(response, bytes, performance.now(), unread.hold(readBy, bytes))
  }
  const sent = sendReply(request, response, answer, { requestId, cors, vary, hold })
  if (sent === undefined) holdRest()
  else return sent.finally(holdRest)
}
