import { WebSocket } from 'ws'
import { answerPings } from '../../kit/answer-pings.ts'
import { shareTurns } from '../../kit/share-turns.ts'
import { ignoreSocketErrors } from '../../kit/socket-errors.ts'
import type { Dial } from '../venue.ts'

/** The real dialler: no compression, which costs more than it saves here, and frames of at most 16 MiB. */
export const dialWebSocket: Dial = (url, headers) => {
  const socket = new WebSocket(url, {
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: 16 * 1024 * 1024,
    followRedirects: false,
    ...(headers === undefined ? {} : { headers }),
  })
  ignoreSocketErrors(socket)
  answerPings(socket)
  socket.on('upgrade', ({ socket: wire }) => shareTurns(socket, wire))
  return socket
}
