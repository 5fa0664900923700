/**
 * Connects the chain and its nodes in different processes, with length-prefixed messages over loopback TCP. A node gets
 * a start state and then every event. A node that does not read, because it is stopped, is disconnected when too much
 * data waits for it, and catches up when it comes back. It never slows down the others.
 */

import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { deserialize, serialize } from 'node:v8'
import { backoffMs } from '../../src/kit/backoff.ts'
import type { Clock } from '../../src/kit/clock.ts'
import { ignoreSocketErrors } from '../../src/kit/socket-errors.ts'
import type { Chain } from './chain.ts'
import {
  type ChainCommand,
  type ChainConnection,
  type ChainMessage,
  type ChainStart,
  execute,
  startOf,
} from './chain-connection.ts'

const MAX_WAITING_BYTES = 64 * 1024 * 1024
const MAX_MESSAGE_BYTES = 1024 * 1024 * 1024
const MAX_PENDING_COMMANDS = 1000
const RECONNECT = { baseMs: 50, capMs: 1000 }

type ToNode = ChainMessage | { kind: 'reply'; id: number; result?: string | undefined; error?: string }
interface ToChain {
  id: number
  command: ChainCommand
}

function write(socket: Socket, message: ToNode | ToChain): void {
  const body = serialize(message)
  const head = Buffer.alloc(4)
  head.writeUInt32LE(body.length)
  socket.write(head)
  socket.write(body)
}

/** Undefined if the other side does not speak this protocol. */
function readMessage<T>(bytes: Buffer): T | undefined {
  try {
    return deserialize(bytes) as T
  } catch {
    return undefined
  }
}

function readMessages<T>(socket: Socket, receive: (message: T) => void): void {
  let parts: Buffer[] = []
  let size = 0
  let wanted = 4
  let isHead = true
  socket.on('data', (chunk: Buffer) => {
    parts.push(chunk)
    size += chunk.length
    while (size >= wanted && !socket.destroyed) {
      const all = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
      const part = all.subarray(0, wanted)
      parts = [all.subarray(wanted)]
      size -= wanted
      if (isHead) {
        wanted = part.readUInt32LE(0)
        if (wanted > MAX_MESSAGE_BYTES) socket.destroy()
      } else {
        wanted = 4
        const message = readMessage<T>(part)
        if (message === undefined) socket.destroy()
        else receive(message)
      }
      isHead = !isHead
    }
  })
}

interface ChainLink {
  port: number
  close(): Promise<void>
}

export async function serveLink(chain: Chain, port: number): Promise<ChainLink> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    sockets.add(socket)
    write(socket, { kind: 'start', start: startOf(chain) })
    const stop = chain.on((event) => {
      if (socket.writableLength > MAX_WAITING_BYTES) socket.destroy()
      else write(socket, event.kind === 'block' ? { kind: 'block', block: event.block } : event)
    })
    readMessages<ToChain>(socket, ({ id, command }) => {
      try {
        write(socket, { kind: 'reply', id, result: execute(chain, command) })
      } catch (error) {
        write(socket, { kind: 'reply', id, error: error instanceof Error ? error.message : String(error) })
      }
    })
    socket.on('close', () => {
      stop()
      sockets.delete(socket)
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      // From now on, errors concern connections that could not be accepted.
      ignoreSocketErrors(server)
      resolve()
    })
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

export function remoteConnection(options: { port: number; clock: Clock }): ChainConnection {
  const pending = new Map<
    number,
    { resolve: (id: string | undefined) => void; reject: (error: Error) => void }
  >()
  const closed = new AbortController()
  let waiting: ToChain[] = []
  let socket: Socket | undefined
  let nextId = 0

  const settle = (message: Extract<ToNode, { kind: 'reply' }>) => {
    const call = pending.get(message.id)
    pending.delete(message.id)
    if (message.error === undefined) call?.resolve(message.result)
    else call?.reject(new Error(message.error))
  }

  const follow = (
    listener: (event: ChainMessage) => void,
    first: (start: ChainStart) => void,
    attempt: number,
  ) => {
    if (closed.signal.aborted) return
    let isFirst = true
    const link = connect({ port: options.port, host: '127.0.0.1' })
    readMessages<ToNode>(link, (message) => {
      if (message.kind === 'reply') return settle(message)
      if (message.kind !== 'start') return listener(message)
      socket = link
      if (isFirst) first(message.start)
      isFirst = false
      for (const call of waiting) write(link, call)
      waiting = []
    })
    link.on('error', () => link.destroy())
    link.on('close', () => {
      if (socket === link) socket = undefined
      const next = isFirst ? attempt + 1 : 0
      const again = () =>
        follow(listener, isFirst ? first : (start) => listener({ kind: 'start', start }), next)
      options.clock
        .sleep(backoffMs(RECONNECT, next, Math.random) + 10, closed.signal)
        .then(again, () => undefined)
    })
    closed.signal.addEventListener('abort', () => link.destroy(), { once: true })
  }

  return {
    chain: undefined,
    open: (listener) => new Promise((resolve) => follow(listener, resolve, 0)),
    send(command) {
      const call = { id: nextId++, command }
      return new Promise((resolve, reject) => {
        pending.set(call.id, { resolve, reject })
        if (pending.size > MAX_PENDING_COMMANDS) {
          const [oldest] = pending.keys()
          if (oldest !== undefined)
            settle({ kind: 'reply', id: oldest, error: 'the link to the chain is down' })
        }
        if (socket !== undefined) write(socket, call)
        else if (waiting.length < MAX_PENDING_COMMANDS) waiting.push(call)
      })
    },
    close: () => closed.abort(new Error('closed')),
  }
}
