/**
 * What one process has sent to another over TCP, and whether it has arrived there. Bytes are counted per connection,
 * which both processes know by its two ports: a client may use one port for connections to several servers.
 */
import assert from 'node:assert/strict'
import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'

/** The ports of a connection, the client's first. */
type Ports = `${number}-${number}`

/** Bytes sent on each connection so far. */
export type SentBytes = Readonly<Record<Ports, number>>

export interface TcpEnd {
  /** Everything sent so far on connections that are open. */
  sent(): Promise<SentBytes>
  /** Resolves when everything that the other end sent was read. */
  received(sent: SentBytes): Promise<void>
}

/** A longer wait is a defect of the test, not load, because local connections deliver within milliseconds. */
const RECEIVED_WITHIN_MS = 60_000
/** A connection that was not read for this long holds an answer that nobody waits for. */
const UNREAD_AFTER_MS = 3_000
/** Turns of the event loop after which the handlers of what was read, and the promises they settled, have run. */
const TURNS = 2
/** After this many rounds it stops waiting for code that keeps sending without a pause. */
const MAX_ROUNDS = 8

const until = async (isDone: () => boolean, what: () => string) => {
  const giveUpMs = performance.now() + RECEIVED_WITHIN_MS
  while (!isDone()) {
    assert.ok(performance.now() < giveUpMs, what())
    await turn()
  }
}

/** Nothing while it is not connected, or no longer. */
const clientPorts = ({ localPort, remotePort }: Socket): Ports | undefined =>
  localPort === undefined || remotePort === undefined ? undefined : `${localPort}-${remotePort}`

const serverPorts = ({ localPort, remotePort }: Socket): Ports | undefined =>
  localPort === undefined || remotePort === undefined ? undefined : `${remotePort}-${localPort}`

/** Connections that have ended or are currently not being read are skipped. */
const hasRead = (socket: Socket, bytes: number) =>
  socket.destroyed || socket.readableEnded || socket.bytesRead >= bytes || isHeld(socket) || isUnread(socket)

/** How much of it had been read when the wait began. */
const waitedFor = new WeakMap<Socket, { bytes: number; sinceMs: number }>()

function isUnread(socket: Socket): boolean {
  const before = waitedFor.get(socket)
  if (before?.bytes === socket.bytesRead) return performance.now() - before.sinceMs > UNREAD_AFTER_MS
  waitedFor.set(socket, { bytes: socket.bytesRead, sinceMs: performance.now() })
  return false
}

/** A socket that is read only on demand counts as paused too. */
const isHeld = (socket: Socket) => socket.isPaused() && socket.listenerCount('readable') === 0

/** The client's end of all connections that this process opens from now on. */
export function clientEnd(): TcpEnd {
  const sockets = new Set<Socket>()
  subscribe('net.client.socket', (message) => {
    const { socket } = message as { socket: Socket }
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return {
    async sent() {
      await until(
        () => [...sockets].every(({ connecting }) => !connecting),
        () => 'a connection is not established',
      )
      return Object.fromEntries(
        [...sockets].flatMap((socket) => {
          const ports = clientPorts(socket)
          return ports === undefined ? [] : [[ports, socket.bytesWritten]]
        }),
      )
    },
    received: (sent) =>
      until(
        () =>
          [...sockets].every((socket) => {
            const ports = clientPorts(socket)
            return ports === undefined || hasRead(socket, sent[ports] ?? 0)
          }),
        () => `not received: ${JSON.stringify(sent)}`,
      ),
  }
}

/** The server's end of all connections that this process accepts from now on. */
export function serverEnd(): TcpEnd {
  /** Ended connections stay, so that nobody waits until they are accepted. */
  const sockets = new Map<string, Socket>()
  subscribe('net.server.socket', (message) => {
    const { socket } = message as { socket: Socket }
    const ports = serverPorts(socket)
    if (ports !== undefined) sockets.set(ports, socket)
  })
  return {
    sent: async () =>
      Object.fromEntries(
        [...sockets]
          .filter(([, { destroyed }]) => !destroyed)
          .map(([ports, { bytesWritten }]) => [ports, bytesWritten]),
      ),
    received: (sent) =>
      until(
        () =>
          Object.entries(sent).every(([ports, bytes]) => {
            const socket = sockets.get(ports)
            return socket !== undefined && hasRead(socket, bytes)
          }),
        () => `not received: ${JSON.stringify(sent)}`,
      ),
  }
}

/**
 * Both ends of the connections that this process has with itself, from now on. Resolves when everything sent was read,
 * and when everything that this triggered has run, as far as no time has to pass. Called at every step of a clock.
 */
export function ownConnections(): () => Promise<void> {
  const clients = new Set<Socket>()
  /** An ended connection stays until its client has ended too. */
  const servers = new Map<Ports, Socket>()
  /** Clients whose server is in another process or thread: since when they have not been accepted here. */
  const foreign = new Map<Ports, number>()
  const isForeign = (ports: Ports) => {
    const sinceMs = foreign.get(ports) ?? performance.now()
    foreign.set(ports, sinceMs)
    return performance.now() - sinceMs > UNREAD_AFTER_MS
  }
  subscribe('net.client.socket', (message) => {
    const { socket } = message as { socket: Socket }
    clients.add(socket)
    let ports: Ports | undefined
    socket.once('connect', () => {
      ports = clientPorts(socket)
    })
    socket.once('close', () => {
      clients.delete(socket)
      if (ports === undefined) return
      foreign.delete(ports)
      if (servers.get(ports)?.destroyed) servers.delete(ports)
    })
  })
  subscribe('net.server.socket', (message) => {
    const { socket } = message as { socket: Socket }
    const ports = serverPorts(socket)
    if (ports !== undefined) servers.set(ports, socket)
  })
  return async () => {
    for (let round = 0, before = -1; round < MAX_ROUNDS; round++) {
      for (let i = 0; i < TURNS; i++) await turn()
      await until(
        () => clients.values().every(({ connecting }) => !connecting),
        () => 'a connection is not established',
      )
      let now = 0
      const asked: [ports: Ports, bytes: number][] = []
      for (const client of clients) {
        const ports = clientPorts(client)
        if (ports === undefined) continue
        asked.push([ports, client.bytesWritten])
        now += client.bytesWritten
      }
      const answered = new Map<Ports, number>()
      for (const [ports, { destroyed, bytesWritten }] of servers) {
        if (destroyed) continue
        answered.set(ports, bytesWritten)
        now += bytesWritten
      }
      await until(
        () =>
          asked.every(([ports, bytes]) => {
            const server = servers.get(ports)
            return server === undefined ? isForeign(ports) : hasRead(server, bytes)
          }),
        () => `requests are not received: ${JSON.stringify(asked)}`,
      )
      await until(
        () =>
          clients.values().every((client) => {
            const ports = clientPorts(client)
            return ports === undefined || hasRead(client, answered.get(ports) ?? 0)
          }),
        () => `answers are not received: ${JSON.stringify([...answered])}`,
      )
      if (now === before) return
      before = now
    }
  }
}
