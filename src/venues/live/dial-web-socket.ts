import { WebSocket } from 'ws'
import { answerPings } from '../../kit/answer-pings.ts'
import { ignoreSocketErrors } from '../../kit/socket-errors.ts'
import type { Dial } from '../venue.ts'

/** The real dialler: no compression, which costs more than it saves here, and frames of at most 16 MiB. */
export const dialWebSocket: Dial = (url, headers) => {
  const socket = new WebSocket(url, {
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: 16 * 1024 * 1024,
    followRedirects: false,
    // One read of a socket can contain thirty thousand frames, so each is handled in its own turn.
    allowSynchronousEvents: false,
    ...(headers === undefined ? {} : { headers }),
  })
  ignoreSocketErrors(socket)
  answerPings(socket)
  return socket
}
