/**
 * A request can be answered before its body has arrived, because it is too long or the path does not exist. The rest is
 * read and dropped, because a client reads its answer only after it has sent everything. A client that never stops
 * sending is cut off.
 */
import type { Server } from 'node:http'

const MAX_DROPPED_BYTES = 16 * 1_048_576

export function boundDropped(server: Server, maxBytes = MAX_DROPPED_BYTES): void {
  server.on('request', (request, response) => {
    if (request.complete) return
    response.once('finish', () => {
      if (request.complete) return
      const { socket } = request
      const last = socket.bytesRead + maxBytes
      const check = () => {
        if (request.complete) socket.off('data', check)
        else if (socket.bytesRead > last) socket.destroy()
      }
      socket.on('data', check)
    })
  })
}
