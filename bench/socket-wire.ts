import { createFrameWriter } from './client-frames.ts'
import type { Wire } from './load.ts'

/** A node's own socket (WebSocket, one frame per answer), driven like an HTTP connection. */
export const socketWire: Wire = {
  greeting:
    'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  answerLength(bytes) {
    const [, length = 0] = bytes
    if (bytes.length < 4) return undefined
    return length < 126 ? 2 + length : 4 + bytes.readUInt16BE(2)
  },
  /** An answer with a result counts as 200. */
  status: (bytes) => (bytes.includes('"params":') ? 200 : 500),
}

export function socketCall(method: string): Buffer {
  return createFrameWriter()([`{"id":1,"method":"${method}","params":{}}`])
}
