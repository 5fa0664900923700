/** The heavy thread: owns the heavy sockets of all nodes, receives and cuts large answers off the main loop. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parentPort, workerData } from 'node:worker_threads'
import { type HeavyConnections, openHeavyConnections } from './heavy-connections.ts'
import {
  type FromHeavyThread,
  type HeavyThreadData,
  packResult,
  type ToHeavyThread,
} from './heavy-messages.ts'

const port = parentPort
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

function reply(message: FromHeavyThread): void {
  port?.postMessage(message, message.kind === 'result' ? [message.memory] : [])
  if (message.kind === 'result' && message.length > LARGE_BYTES) setImmediate(collect)
}

async function call(request: Extract<ToHeavyThread, { op: 'call' }>): Promise<void> {
  const { id, node, method, paramsText, timeoutMs } = request
  const open = connections.get(node)
  if (open === undefined) {
    return reply({ id, kind: 'fault', fault: 'not_connected', sent: false, detail: `no node ${node}` })
  }
  const abort = new AbortController()
  running.set(id, abort)
  const answer = await open.call(method, paramsText, { timeoutMs, signal: abort.signal })
  running.delete(id)
  reply(answer.kind === 'result' ? packResult(id, answer.bytes) : { id, ...answer })
}

port?.on('message', (message: ToHeavyThread) => {
  if (message.op === 'call') void call(message)
  else if (message.op === 'cancel') running.get(message.id)?.abort()
  else {
    for (const open of connections.values()) open.close()
    port.close()
  }
})
