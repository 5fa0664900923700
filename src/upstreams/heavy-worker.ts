/** The heavy thread: owns the heavy sockets of all nodes, and receives and slices large answers off the main loop. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { workerData } from 'node:worker_threads'
import { systemClock } from '../kit/clock.ts'
import { serveCalls, withTransfer } from '../kit/thread-calls.ts'
import { dialNode } from './dial-node.ts'
import { type HeavyConnections, type HeavyNodes, openHeavyConnections } from './heavy-connections.ts'
import { faultAnswer, type NodeAnswer } from './open-calls.ts'

/** An answer for the main thread. The memory of a result is moved, not copied. */
export type TransferredAnswer =
  | { kind: 'result'; memory: ArrayBuffer; offset: number; length: number }
  | Exclude<NodeAnswer, { kind: 'result' }>

export interface HeavyThreadCalls {
  ask(
    id: number,
    node: string,
    method: string,
    paramsText: string,
    limits: { timeoutMs: number; isPriority: boolean },
  ): Promise<TransferredAnswer>
  cancel(id: number): void
}

/** Larger than any buffer pool and any single read from a socket. */
const OWN_BYTES = 256 * 1024
/**
 * The buffers that a large answer was read into become garbage once they are joined. Collecting them at once is cheap,
 * because the heap of this thread holds little else; otherwise several large answers would stay resident.
 */
const LARGE_BYTES = 8 * 1024 * 1024
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const data = workerData as HeavyNodes
const connections = new Map<string, HeavyConnections>(
  data.nodes.map(({ name, url }) => [
    name,
    openHeavyConnections({
      url,
      ports: { clock: systemClock, dial: dialNode },
      sockets: data.socketsPerNode,
      maxWaiting: data.maxWaitingPerNode,
    }),
  ]),
)
const running = new Map<number, AbortController>()

/**
 * A large frame has its memory to itself, and that memory is moved to the other thread. A small frame may share a pool
 * with others, so it is copied: moving it would take the pool away.
 */
function transferred(bytes: Buffer): TransferredAnswer {
  const { buffer: memory, byteOffset, byteLength } = bytes
  if (byteLength > LARGE_BYTES) setImmediate(collect)
  const isOwn = memory instanceof ArrayBuffer && byteLength > memory.byteLength / 2 && byteLength > OWN_BYTES
  if (isOwn) return withTransfer({ kind: 'result', memory, offset: byteOffset, length: byteLength }, [memory])
  const copy = new Uint8Array(bytes).buffer
  return withTransfer({ kind: 'result', memory: copy, offset: 0, length: byteLength }, [copy])
}

serveCalls<HeavyThreadCalls>({
  async ask(id, node, method, paramsText, limits) {
    const open = connections.get(node)
    if (open === undefined) return faultAnswer('not_connected', false, `no node ${node}`) as TransferredAnswer
    const abort = new AbortController()
    running.set(id, abort)
    const answer = await open.call(method, paramsText, { ...limits, signal: abort.signal })
    running.delete(id)
    return answer.kind === 'result' ? transferred(answer.bytes) : answer
  },
  cancel: (id) => running.get(id)?.abort(),
})
