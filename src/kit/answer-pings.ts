/**
 * Answers the pings of a peer while it reads. The answers to a peer that floods pings and does not read would
 * pile up without end, so such a peer is cut. The socket must not answer by itself (`autoPong: false`).
 */
import type { WebSocket } from 'ws'

/** No peer that reads leaves as much unread. */
const MAX_UNSENT_BYTES = 1024 * 1024

export function answerPings(socket: WebSocket, mayAnswer: () => boolean = () => true): void {
  socket.on('ping', (data) => {
    if (socket.readyState !== socket.OPEN || !mayAnswer()) return
    if (socket.bufferedAmount > MAX_UNSENT_BYTES) socket.terminate()
    else socket.pong(data)
  })
}
