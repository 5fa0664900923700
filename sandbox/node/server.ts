/**
 * wRPC JSON over WebSocket. Each socket is a queue: a request is answered before the next one is read,
 * and notifications wait behind it, as on the real node.
 *
 *   frame ─▶ queue ─▶ [wait: fault] ─▶ method ─▶ answer (or refusal, or nothing, or the connection is closed)
 *   node event ─▶ queue ─▶ frames
 */
import { answerPings } from '../../src/kit/answer-pings.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { Endpoint, Listen, ServerSocket } from '../server/transport.ts'
import type { Faults } from './faults.ts'
import type { MethodLog } from './method-log.ts'
import type { SandboxNode } from './node.ts'
import { answer, METHODS, type Request, readParams, readRequest, refusal, served } from './rpc/dispatch.ts'
import { NodePanic, RpcError } from './rpc/errors.ts'
import { type NodeEvent, Subscriptions } from './rpc/notifications.ts'

const MAX_MESSAGE_BYTES = 128 * 1024 * 1024
/** Limits for one socket's queue and send buffer; beyond them the node drops the client. */
const MAX_QUEUED = 20_000
const MAX_BUFFERED_BYTES = 512 * 1024 * 1024

interface NodeServer {
  port: number
  /** Ends abruptly: sockets are cut and nothing is answered any more. */
  die(): Promise<void>
  close(): Promise<void>
}

interface Shared {
  node: SandboxNode
  faults: () => Faults
  log: MethodLog
  clock: Clock
  panic: () => void
}

export async function startServer(options: Shared & { listen: Listen; port: number }): Promise<NodeServer> {
  const sessions = new Set<Session>()
  let nextId = 0
  const accept = (socket: ServerSocket) => {
    answerPings(socket)
    const session = new Session(socket, nextId++, options)
    sessions.add(session)
    options.node.counters.attempts += 1
    options.node.counters.connections = sessions.size
    socket.on('close', () => {
      session.end()
      sessions.delete(session)
      options.node.counters.connections = sessions.size
    })
    socket.on('error', () => socket.terminate())
  }
  const unlisten = options.node.on((event) => {
    const shared = new Map<string, string>()
    for (const session of sessions) session.notify(event, shared)
  })
  const endpoint: Endpoint = {
    answer: async () => ({ status: 426, headers: {}, body: '' }),
    upgrade: () => ({ accept }),
    maxMessageBytes: MAX_MESSAGE_BYTES,
  }
  const listener = await options.listen(endpoint, options.port)
  const close = async () => {
    unlisten()
    await listener.close()
  }
  return { port: listener.port, close, die: close }
}

class Session {
  readonly #socket: ServerSocket
  readonly #id: number
  readonly #shared: Shared
  readonly #subscriptions = new Subscriptions()
  readonly #queue: (Request | string)[] = []
  readonly #ended = new AbortController()
  #busy = false

  constructor(socket: ServerSocket, id: number, shared: Shared) {
    this.#socket = socket
    this.#id = id
    this.#shared = shared
    socket.on('message', (data: Buffer, isBinary: boolean) => this.#receive(data, isBinary))
  }

  end(): void {
    this.#ended.abort(new Error('socket closed'))
    this.#queue.length = 0
  }

  notify(event: NodeEvent, shared: Map<string, string>): void {
    if (this.#subscriptions.isEmpty) return
    for (const frame of this.#subscriptions.frames(this.#shared.node, event, shared)) this.#enqueue(frame)
  }

  #receive(data: Buffer, isBinary: boolean): void {
    this.#shared.node.counters.bytesIn += data.length
    const frame = data.toString('utf8')
    const request = isBinary ? undefined : readRequest(frame)
    if (request === undefined) {
      const method = /"method"\s*:\s*"([^"]*)"/.exec(frame)?.[1] ?? null
      this.#shared.log.record({ method, bytes: data.length })
      this.#socket.terminate()
      return
    }
    this.#shared.log.record({ method: request.method, bytes: data.length })
    this.#enqueue(request)
  }

  #enqueue(item: Request | string): void {
    this.#queue.push(item)
    if (this.#queue.length > MAX_QUEUED || this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) {
      this.#socket.terminate()
      return
    }
    if (!this.#busy) void this.#drain()
  }

  async #drain(): Promise<void> {
    this.#busy = true
    try {
      for (let item = this.#queue.shift(); item !== undefined; item = this.#queue.shift()) {
        const { hang } = this.#shared.faults()
        if (hang) {
          this.#queue.unshift(item)
          await this.#shared.clock.sleep(50, this.#ended.signal)
          continue
        }
        if (typeof item === 'string') this.#send(item)
        else await this.#serve(item)
      }
    } catch (error) {
      if (!this.#ended.signal.aborted) throw error
    } finally {
      this.#busy = false
    }
  }

  async #serve(request: Request): Promise<void> {
    const { latencyMs, hugeBlocksBytes } = this.#shared.faults()
    if (latencyMs > 0) await this.#shared.clock.sleep(latencyMs, this.#ended.signal)
    const text = this.#answer(request)
    if (text === undefined || request.id === undefined) return
    const isHuge = hugeBlocksBytes > 0 && request.method === 'getBlocks'
    this.#send(isHuge ? padBlocks(text, hugeBlocksBytes) : text)
  }

  #answer(request: Request): string | undefined {
    const { node, faults, panic } = this.#shared
    try {
      const refused = faults().refuse
      if (refused !== null) throw new RpcError(refused)
      if (!served(request.method)) throw new RpcError('RPC method not found')
      const params = readParams(request.params)
      if (request.method === 'subscribe') {
        this.#subscriptions.start(params)
        return answer(request, { id: this.#id })
      }
      if (request.method === 'unsubscribe') {
        this.#subscriptions.stop(params)
        return answer(request, {})
      }
      return answer(request, METHODS[request.method]?.(node, params))
    } catch (error) {
      if (error instanceof RpcError) return refusal(request, error)
      if (error instanceof NodePanic) {
        panic()
        return undefined
      }
      // A bug of the simulator itself. The text says so, to distinguish it from a refusal of the node.
      return refusal(request, new RpcError(`sandbox node failed: ${String(error)}`))
    }
  }

  #send(text: string): void {
    this.#shared.node.counters.bytesOut += text.length
    this.#socket.send(text)
  }
}

/** Makes a getBlocks answer as large as real ones get, by repeating its blocks. */
function padBlocks(frame: string, wantedBytes: number): string {
  const marker = '"blocks":['
  const at = frame.indexOf(marker)
  if (at < 0 || frame.length >= wantedBytes) return frame
  const from = at + marker.length
  const end = frame.lastIndexOf(']')
  const blocks = frame.slice(from, end)
  if (blocks.length === 0) return frame
  const times = Math.ceil((wantedBytes - frame.length) / (blocks.length + 1))
  return `${frame.slice(0, from)}${`${blocks},`.repeat(times)}${blocks}${frame.slice(end)}`
}
