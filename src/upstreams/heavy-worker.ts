/** The heavy thread: owns the heavy sockets of all nodes, receives and cuts large answers off the main loop. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { workerData } from 'node:worker_threads'
import { serveCalls } from '../kit/thread-calls.ts'
import { type HeavyConnections, openHeavyConnections } from './heavy-connections.ts'
import { type HeavyCalls, type HeavyThreadData, packResult } from './heavy-messages.ts'

const data = workerData as HeavyThreadData
const connections = new Map<string, HeavyConnections>(
  data.nodes.map(({ name, url }) => [
    name,
    openHeavyConnections({ url, sockets: data.socketsPerNode, maxWaiting: data.maxWaitingPerNode }),
  ]),
)
const running = new Map<number, AbortController>()

/**
 * What a large answer was read into is garbage as soon as it is joined. This thread has next to nothing else on
 * its heap, so that collecting it takes little; waiting for it would keep several answers resident.
 */
const LARGE_BYTES = 8 * 1024 * 1024
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

serveCalls<HeavyCalls>({
  async send(id, { node, method, paramsText, timeoutMs }) {
    const open = connections.get(node)
    if (open === undefined) {
      return { kind: 'fault', fault: 'not_connected', sent: false, detail: `no node ${node}` }
    }
    const abort = new AbortController()
    running.set(id, abort)
    try {
      const answer = await open.call(method, paramsText, { timeoutMs, signal: abort.signal })
      if (answer.kind !== 'result') return answer
      if (answer.bytes.length > LARGE_BYTES) setImmediate(collect)
      return packResult(answer.bytes)
    } finally {
      running.delete(id)
    }
  },
  cancel: (id) => running.get(id)?.abort(),
})
