/**
 * Selects nodes that can serve all calls of a balance, because the answers are consistent only if they come from one
 * node.
 */
import type { NodeStatus } from '../../../upstreams/pool.ts'

/** Leaves out nodes to which light or heavy calls keep failing. */
function ableNodes(nodes: readonly NodeStatus[]): NodeStatus[] {
  return nodes.filter(
    ({ state, connected, utxoIndex, breaker }) =>
      connected && state === 'healthy' && utxoIndex && breaker !== 'open',
  )
}

/**
 * The node whose chain was longest at its last probe, preferring primaries. `alsoBackups` is for a caller that has
 * found the chain of the primary too short.
 */
export function furthestNode(nodes: readonly NodeStatus[], { alsoBackups = false } = {}): string | undefined {
  const tierOrder = (a: NodeStatus, b: NodeStatus) => (alsoBackups ? 0 : isBackup(a) - isBackup(b))
  const daaOrder = (a: NodeStatus, b: NodeStatus) => (b.daaScore ?? 0) - (a.daaScore ?? 0)
  return ableNodes(nodes).toSorted(
    (a, b) => tierOrder(a, b) || daaOrder(a, b) || isBackup(a) - isBackup(b),
  )[0]?.name
}

/** A primary before a backup, then the fastest. */
export function balanceNode(nodes: readonly NodeStatus[]): string | undefined {
  return ableNodes(nodes).toSorted((a, b) => isBackup(a) - isBackup(b) || a.latencyMs - b.latencyMs)[0]?.name
}

function isBackup({ tier }: NodeStatus): number {
  return Number(tier === 'backup')
}
