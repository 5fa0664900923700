/**
 * Node's HTTP parser consumes everything that a socket has: one turn of the event loop reads up to two megabytes, which
 * are fifty thousand of the shortest requests or three hundred thousand one-byte chunks. Here the parser gets small
 * pieces. The rest of a read waits for a later turn if this one has lasted long enough, or if requests began in it,
 * because most of their work is still to come in this turn.
 *
 * The waiting bytes are in the paused socket. Node resumes a socket whenever a body is read, so while bytes wait its
 * calls to pause and resume are only recorded.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import { isTurnSpent, nextTurn } from '../../kit/time-slices.ts'

/** At most about thirty requests, or two hundred chunks. */
const PIECE_BYTES = 1_024
/** For a body with a declared length. Its bytes cost almost nothing; only what follows them does. */
const BODY_PIECE_BYTES = 8_192
/** A request whose body is still arriving does not end the turn, unless more than this many began before it. */
const MAX_BEGUN = 8

export interface ParsedConnections {
  /** Stops parsing what the socket delivers from now on. */
  ignoreRest(socket: Socket): void
}

interface Reader {
  /** A request has begun. */
  begin(request: IncomingMessage): void
  ignoreRest(): void
  /** The connection is no longer HTTP. */
  leave(): void
}

/** With TLS a connection begins after its handshake. */
export function connectionEvent(server: Server | SecureServer): 'connection' | 'secureConnection' {
  return server instanceof TlsServer ? 'secureConnection' : 'connection'
}

/** To be called after the listener for upgrades has been added. */
export function parseInTurns(server: Server | SecureServer): ParsedConnections {
  const readers = new WeakMap<object, Reader>()
  server.on(connectionEvent(server), (socket: Socket) => {
    readers.set(socket, readInTurns(socket))
  })
  server.on('request', (request) => readers.get(request.socket)?.begin(request))
  // If ours were the only listener, Node would expect it to handle upgrades.
  if (server.listenerCount('upgrade') > 0)
    server.prependListener('upgrade', (_request, socket: object) => readers.get(socket)?.leave())
  return { ignoreRest: (socket) => readers.get(socket)?.ignoreRest() }
}

/** Replaces the parser's listener for data. */
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
      // Does not apply to the first piece, so that a short request is served in the turn in which it arrives.
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
  // This also makes Node read through the stream instead of bypassing it.
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
      // The new owner of the connection puts the non-HTTP bytes of the current piece back before these.
      if (rest !== undefined) socket.unshift(rest)
      rest = undefined
    },
  }
}
