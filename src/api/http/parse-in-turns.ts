/**
 * Node's HTTP parser takes all that a socket has: one turn of the loop reads up to two megabytes, which is fifty
 * thousand of the shortest requests or three hundred thousand chunks of one byte. Here it gets small pieces. The rest
 * of a read waits for a later turn when this one has lasted long enough, or when requests began: most of their work is
 * still to come in this turn.
 *
 * Bytes that wait are in the socket, paused. Node resumes a socket whenever a body is read, so while they wait its
 * wishes are only noted.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import { isTurnSpent, nextTurn } from '../../kit/time-slices.ts'

/** At most about thirty requests, or two hundred chunks. */
const PIECE_BYTES = 1_024
/** Of a body whose length is declared: its bytes cost next to nothing, only what follows it does. */
const BODY_PIECE_BYTES = 8_192
/** A request whose body is still to come does not end the turn, unless so many began before it. */
const MAX_BEGUN = 8

export interface ParsedConnections {
  /** What the socket delivers from now on is not parsed. */
  ignoreRest(socket: Socket): void
}

interface Reader {
  /** A request began. */
  begin(request: IncomingMessage): void
  ignoreRest(): void
  /** The connection is no longer HTTP. */
  leave(): void
}

/** With TLS a connection begins after its handshake. */
export function connectionEvent(server: Server | SecureServer): 'connection' | 'secureConnection' {
  return server instanceof TlsServer ? 'secureConnection' : 'connection'
}

/** To be called when the listener for upgrades is there. */
export function parseInTurns(server: Server | SecureServer): ParsedConnections {
  const readers = new WeakMap<object, Reader>()
  server.on(connectionEvent(server), (socket: Socket) => {
    readers.set(socket, readInTurns(socket))
  })
  server.on('request', (request) => readers.get(request.socket)?.begin(request))
  // Without another listener Node would take ours for one that answers.
  if (server.listenerCount('upgrade') > 0)
    server.prependListener('upgrade', (_request, socket: object) => readers.get(socket)?.leave())
  return { ignoreRest: (socket) => readers.get(socket)?.ignoreRest() }
}

/** Takes the place of the parser's listener for data. */
function readInTurns(socket: Socket): Reader {
  const parsers = socket.listeners('data')
  let rest: Buffer | undefined
  let isIgnored = false
  let begun = 0
  let request: IncomingMessage | undefined

  function isInBody(): boolean {
    return request?.complete === false && request.headers['content-length'] !== undefined
  }

  function onData(read: Buffer): void {
    rest = read
    begun = 0
    while (rest !== undefined && !isIgnored && !socket.destroyed) {
      // Not the first piece: a short request is served in the turn in which it arrives.
      const mayGoOn = begun <= (isInBody() ? MAX_BEGUN : 0)
      if (rest !== read && (!mayGoOn || socket.isPaused() || isTurnSpent())) {
        putBack()
        return
      }
      const size = isInBody() ? BODY_PIECE_BYTES : PIECE_BYTES
      const piece: Buffer = rest.subarray(0, size)
      rest = rest.length > size ? rest.subarray(size) : undefined
      for (const parse of parsers) Reflect.apply(parse, socket, [piece])
    }
    rest = undefined
  }

  function putBack(): void {
    const bytes = rest
    rest = undefined
    const isHeldByNode = socket.isPaused()
    socket.pause()
    socket.unshift(bytes)
    if (!isHeldByNode) waitForTurn()
  }

  function waitForTurn(): void {
    let flows = true
    const note = (wish: boolean) => () => {
      flows = wish
      return socket
    }
    Object.assign(socket, { pause: note(false), resume: note(true) })
    void nextTurn().then(() => {
      Reflect.deleteProperty(socket, 'pause')
      Reflect.deleteProperty(socket, 'resume')
      if (flows) socket.resume()
    })
  }

  for (const parse of parsers) socket.off('data', parse as () => void)
  // This also ends Node's reading past the stream.
  socket.on('data', onData)
  return {
    begin(next) {
      request = next
      begun++
    },
    ignoreRest() {
      isIgnored = true
    },
    leave() {
      socket.off('data', onData)
      // The bytes of this piece that are not HTTP are put back in front of it by whoever takes the connection over.
      if (rest !== undefined) socket.unshift(rest)
      rest = undefined
    },
  }
}
