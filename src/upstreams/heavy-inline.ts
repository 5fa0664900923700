/** Heavy calls on the calling thread, for processes that do not start the heavy thread. */
import { type HeavyCalls, type HeavyNodes, openHeavyConnections } from './heavy-connections.ts'
import type { NodePorts } from './node-ports.ts'
import { faultAnswer } from './open-calls.ts'

export function openHeavyInline(data: HeavyNodes, ports: Pick<NodePorts, 'clock' | 'dial'>): HeavyCalls {
  const connections = new Map(
    data.nodes.map(({ name, url }) => [
      name,
      openHeavyConnections({
        url,
        ports,
        sockets: data.socketsPerNode,
        maxWaiting: data.maxWaitingPerNode,
      }),
    ]),
  )
  const inFlight = new Map<string, number>()
  const count = (node: string, change: number) => inFlight.set(node, (inFlight.get(node) ?? 0) + change)
  return {
    async call(node, method, paramsText, options) {
      const open = connections.get(node)
      if (open === undefined) return faultAnswer('not_connected', false, `no node ${node}`)
      count(node, 1)
      const answer = await open.call(method, paramsText, options)
      count(node, -1)
      return answer
    },
    inFlight: (node) => inFlight.get(node) ?? 0,
    async close() {
      for (const open of connections.values()) open.close()
    },
  }
}
