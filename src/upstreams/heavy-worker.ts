/** The heavy thread: owns the heavy sockets of all nodes, receives and cuts large answers off the main loop. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { workerData } from 'node:worker_threads'
import { systemClock } from '../kit/clock.ts'
import { serveCalls, withTransfer } from '../kit/thread-calls.ts'
import { dialNode } from './dial-node.ts'
import { type HeavyConnections, type HeavyNodes, openHeavyConnections } from './heavy-connections.ts'
import { faultAnswer, type NodeAnswer } from './open-calls.ts'

/** An answer for the main thread: a result is a range of memory that is moved, not copied. */
export type TransferredAnswer =
  | { kind: 'result'; memory: ArrayBuffer; offset: number; length: number }
  | Exclude<NodeAnswer, { kind: 'result' }>

export interface HeavyThreadCalls {
  ask(
    id: number,
    node: string,
    method: string,
    paramsText: string,
    timeoutMs: number,
  ): Promise<TransferredAnswer>
  cancel(id: number): void
}

/** Above every pool and every single read from a socket. */
const OWN_BYTES = 256 * 1024
/**
 * What a large answer was read into is garbage as soon as it is joined. This thread has next to nothing else on
 * its heap, so that collecting it takes little; waiting for it would keep several answers resident.
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
 * The memory of a large frame belongs to that frame alone and is moved to the other thread as it is. A small
 * one may share a pool with other frames: it is copied, because moving it would take the pool away.
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
  async ask(id, node, method, paramsText, timeoutMs) {
    const open = connections.get(node)
    if (open === undefined) return faultAnswer('not_connected', false, `no node ${node}`) as TransferredAnswer
    const abort = new AbortController()
    running.set(id, abort)
    const answer = await open.call(method, paramsText, { timeoutMs, signal: abort.signal })
    running.delete(id)
    return answer.kind === 'result' ? transferred(answer.bytes) : answer
  },
  cancel: (id) => running.get(id)?.abort(),
})
