/**
 * Answers pings while the peer reads. A peer that floods pings without reading would make the answers pile up, so it
 * is disconnected. The socket must not answer by itself (`autoPong: false`).
 */
import type { WebSocket } from 'ws'

/** A peer that reads never leaves this much unsent. */
const MAX_UNSENT_BYTES = 1024 * 1024

export function answerPings(socket: WebSocket, mayAnswer: () => boolean = () => true): void {
  socket.on('ping', (data) => {
    if (socket.readyState !== socket.OPEN || !mayAnswer()) return
    if (socket.bufferedAmount > MAX_UNSENT_BYTES) socket.terminate()
    else socket.pong(data)
  })
}
