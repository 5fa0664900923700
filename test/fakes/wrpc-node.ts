/**
 * A small scripted node on a real socket. Like the real one it serves one request at a time per connection,
 * copies the id as text, and drops the connection on frames it cannot read. It can die, come back on the same
 * port, hang (no answers, no pongs), answer slowly and give wrong answers; it records every frame it received.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'
import { deserialises, SHAPES } from './wrpc-shapes.ts'

export interface FakeNodeState {
  networkId: string
  isSynced: boolean
  hasUtxoIndex: boolean
  daaScore: number
}

/** Result text, an error, or nothing (never answers). */
type Reply = string | { error: string } | undefined
type Responder = (params: string, frame: string) => Reply | Promise<Reply>

export interface FakeNode {
  readonly url: string
  readonly state: FakeNodeState
  /** requests received, whole frames, in order */
  readonly frames: string[]
  /** frames that a real node could not have read */
  readonly violations: string[]
  readonly connections: number
  /** answers of these methods; everything else gets `{}` */
  readonly respond: Map<string, Responder>
  /** every request waits this long */
  delayMs: number
  received(method: string): number
  notify(method: string, paramsText: string): void
  hang(): void
  resume(): void
  /** Ends every connection and stops listening. */
  die(): Promise<void>
  revive(): Promise<void>
  close(): Promise<void>
}

const SUBSCRIPTIONS = ['subscribe', 'unsubscribe']

export async function startFakeNode(initial: Partial<FakeNodeState> = {}): Promise<FakeNode> {
  const state: FakeNodeState = {
    networkId: 'mainnet',
    isSynced: true,
    hasUtxoIndex: true,
    daaScore: 1_000_000,
    ...initial,
  }
  const frames: string[] = []
  const violations: string[] = []
  const respond = new Map<string, Responder>()
  let hung = false
  let wake: (() => void)[] = []
  let port = 0
  let server: WebSocketServer | undefined

  const node: FakeNode = {
    get url() {
      return `ws://127.0.0.1:${port}`
    },
    get connections() {
      return server?.clients.size ?? 0
    },
    state,
    frames,
    violations,
    respond,
    delayMs: 0,
    received: (method) => frames.filter((frame) => frame.includes(`"method":"${method}"`)).length,
    notify(method, paramsText) {
      for (const client of server?.clients ?? []) client.send(`{"method":"${method}","params":${paramsText}}`)
    },
    hang() {
      hung = true
    },
    resume() {
      hung = false
      for (const go of wake.splice(0)) go()
    },
    async die() {
      for (const client of server?.clients ?? []) client.terminate()
      const closing = server
      server = undefined
      wake = []
      if (closing !== undefined) await new Promise((resolve) => closing.close(resolve))
    },
    revive: () => listen(),
    close: () => node.die(),
  }

  async function listen(): Promise<void> {
    const opened = new WebSocketServer({ host: '127.0.0.1', port, perMessageDeflate: false, autoPong: false })
    server = opened
    opened.on('connection', (socket) => {
      const queue: string[] = []
      let busy = false
      socket.on('error', () => {})
      socket.on('ping', (data) => {
        if (!hung && !busy) socket.pong(data)
      })
      socket.on('message', (data) => {
        queue.push(String(data))
        void drain()
      })
      async function drain(): Promise<void> {
        if (busy) return
        busy = true
        for (let frame = queue.shift(); frame !== undefined; frame = queue.shift()) await serve(socket, frame)
        busy = false
      }
    })
    await once(opened, 'listening')
    port = (opened.address() as AddressInfo).port
  }

  async function serve(socket: WebSocket, frame: string): Promise<void> {
    frames.push(frame)
    const match = /^\{"id":(\d+),"method":"(\w+)","params":(\{.*\})\}$/s.exec(frame)
    const [, id, method = '', params = ''] = match ?? []
    const subscription = SUBSCRIPTIONS.includes(method)
    if (id === undefined || !(method in SHAPES || subscription)) {
      violations.push(frame)
      socket.terminate()
      return
    }
    if (hung) await new Promise<void>((resolve) => wake.push(resolve))
    if (node.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, node.delayMs))
    let reply: Reply
    if (!subscription && !deserialises(method, params)) {
      violations.push(frame)
      reply = { error: 'request deserialization error' }
    } else reply = await (respond.get(method) ?? defaults)(params, frame)
    if (reply === undefined || socket.readyState !== WebSocket.OPEN) return
    const body =
      typeof reply === 'string'
        ? `"params":${reply}`
        : `"error":{"code":0,"message":${JSON.stringify(reply.error)},"data":null}`
    socket.send(`{"id":${id},"method":"${method}",${body}}`)
  }

  const defaults: Responder = (_, frame) => (frame.includes('"getServerInfo"') ? serverInfo() : '{}')

  function serverInfo(): string {
    const { networkId, isSynced, hasUtxoIndex, daaScore } = state
    return `{"rpcApiVersion":1,"rpcApiRevision":0,"serverVersion":"2.0.1","networkId":"${networkId}","hasUtxoIndex":${hasUtxoIndex},"isSynced":${isSynced},"virtualDaaScore":${daaScore}}`
  }

  await listen()
  return node
}
