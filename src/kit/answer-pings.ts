/**
 * Answers pings as long as the peer reads. A peer that floods pings without reading would make the answers pile up, so
 * it is disconnected. The socket must not answer by itself (`autoPong: false`).
 */

/** The part of a `ws` socket that is used here. */
interface PingedSocket {
  readonly readyState: number
  readonly bufferedAmount: number
  pong(data: Buffer): void
  terminate(): void
  on(event: 'ping', listener: (data: Buffer) => void): unknown
}

const OPEN = 1
/** A peer that reads never leaves this much unsent. */
const MAX_UNSENT_BYTES = 1024 * 1024

export function answerPings(socket: PingedSocket, mayAnswer: () => boolean = () => true): void {
  socket.on('ping', (data) => {
    if (socket.readyState !== OPEN || !mayAnswer()) return
    if (socket.bufferedAmount > MAX_UNSENT_BYTES) socket.terminate()
    else socket.pong(data)
  })
}
