/** Opens connections to nodes. Only this file of the folder knows `ws`. */
import type { Socket } from 'node:net'
import WebSocket from 'ws'
import { answerPings } from '../kit/answer-pings.ts'
import { shareTurns } from '../kit/share-turns.ts'
import { ignoreSocketErrors } from '../kit/socket-errors.ts'

/** One connection to one node, from dialling to its end. */
export interface NodeConnection {
  /** Sends all texts in one write. One system call per text would make sending take three times as long. */
  send(texts: readonly string[]): void
  ping(): void
  /** Closes without a closing handshake. */
  terminate(): void
}

/** Callbacks of a connection. None is called before `DialNode` has returned. */
interface NodeConnectionEvents {
  onOpen(): void
  onMessage(data: Buffer): void
  onPing(): void
  onPong(): void
  /** Called once and last, even if the connection never opened. */
  onClose(detail: string): void
}

/** A frame larger than `maxFrameBytes` ends the connection. */
export type DialNode = (
  url: string,
  events: NodeConnectionEvents,
  limits: { readonly maxFrameBytes: number },
) => NodeConnection

export const dialNode: DialNode = (url, events, { maxFrameBytes }) => {
  const socket = new WebSocket(url, {
    maxPayload: maxFrameBytes,
    perMessageDeflate: false,
    autoPong: false,
    followRedirects: false,
  })
  let wire: Socket | undefined
  let detail = 'closed by the node'
  ignoreSocketErrors(socket)
  answerPings(socket)
  socket.on('upgrade', (response) => {
    wire = response.socket
    ignoreSocketErrors(response.socket)
    shareTurns(socket, response.socket)
  })
  socket.on('open', () => events.onOpen())
  socket.on('message', (data) => events.onMessage(data as Buffer))
  socket.on('ping', () => events.onPing())
  socket.on('pong', () => events.onPong())
  socket.on('error', (error) => {
    detail = error.message
  })
  socket.on('close', () => events.onClose(detail))
  return {
    send(texts) {
      wire?.cork()
      for (const text of texts) socket.send(text)
      wire?.uncork()
    },
    ping: () => socket.ping(),
    terminate: () => socket.terminate(),
  }
}
