/**
 * Which node gets a call, in which order. Pure, and it explains itself.
 *
 * Nodes fall into classes; inside a class the one with the least expected wait comes first. An unhealthy node comes
 * last and is not excluded: as long as one connected node of the right network exists, calls have a target. Only nodes
 * that cannot or must not answer are left out: not connected, another network, never probed.
 */
import type { BreakerState } from '../kit/breaker.ts'
import type { NodeState } from './health.ts'

export type NodeTier = 'primary' | 'backup'

export interface NodeCandidate {
  readonly name: string
  readonly tier: NodeTier
  readonly connected: boolean
  readonly state: NodeState
  readonly hasUtxoIndex: boolean
  readonly breaker: BreakerState
  /** typical time of a call */
  readonly latencyMs: number
  readonly inFlight: number
  /** how long it has been silent while calls wait */
  readonly silentMs: number
}

export interface CallNeed {
  readonly utxoIndex: boolean
  /** already tried for this call */
  readonly exclude?: ReadonlySet<string>
  /** For a second attempt beside a running one: a node that lags must not win a race with its old answer. */
  readonly wellOnly?: boolean
  /** First in its class: who follows one node's view queries that node again. */
  readonly prefer?: string | undefined
  /** In a class the order is that of the configuration, not of speed: every process reaches the same node first. */
  readonly asConfigured?: boolean | undefined
}

export interface NodeChoice {
  /** best first */
  readonly order: readonly string[]
  readonly explain: readonly { readonly node: string; readonly why: string }[]
}

/** A node on which calls have waited this long is treated as unhealthy before its probe has failed. */
const SILENT_LIMIT_MS = 1_000

export function choose(nodes: readonly NodeCandidate[], need: CallNeed): NodeChoice {
  const explain = nodes.map((node) => ({ node: node.name, why: rank(node, need).why }))
  return { order: orderOf(nodes, need), explain }
}

/** The order alone, for every call. */
export function orderOf(nodes: readonly NodeCandidate[], need: CallNeed): string[] {
  const usable: { node: NodeCandidate; rank: number }[] = []
  for (const node of nodes) {
    const { rank: found } = rank(node, need)
    if (found !== undefined) usable.push({ node, rank: found })
  }
  if (usable.length > 1) {
    usable.sort(
      (a, b) =>
        a.rank - b.rank ||
        Number(b.node.name === need.prefer) - Number(a.node.name === need.prefer) ||
        (need.asConfigured === true
          ? nodes.indexOf(a.node) - nodes.indexOf(b.node)
          : expectedWaitMs(a.node) - expectedWaitMs(b.node) || (a.node.name < b.node.name ? -1 : 1)),
    )
  }
  return usable.map(({ node }) => node.name)
}

function expectedWaitMs(node: NodeCandidate): number {
  return (node.latencyMs + 0.1) * (node.inFlight + 1)
}

const RANKS = {
  healthyPrimary: 0,
  healthyBackup: 1,
  brokenPrimary: 2,
  brokenBackup: 3,
  unhealthyPrimary: 4,
  unhealthyBackup: 5,
  withoutIndex: 6,
}

function rank(node: NodeCandidate, need: CallNeed): { rank: number | undefined; why: string } {
  const primary = node.tier === 'primary'
  if (need.exclude?.has(node.name)) return { rank: undefined, why: 'already tried for this call' }
  if (node.state === 'wrong_network') return { rank: undefined, why: 'serves another network' }
  if (node.state === 'unknown') return { rank: undefined, why: 'not probed yet' }
  if (!node.connected) return { rank: undefined, why: 'not connected' }
  if (need.utxoIndex && !node.hasUtxoIndex) {
    return { rank: RANKS.withoutIndex, why: 'last resort: has no UTXO index' }
  }
  const trouble = troubleOf(node)
  if (trouble !== undefined) {
    if (need.wellOnly) return { rank: undefined, why: `not beside another: ${trouble}` }
    return { rank: primary ? RANKS.unhealthyPrimary : RANKS.unhealthyBackup, why: `last resort: ${trouble}` }
  }
  if (node.breaker === 'open') {
    const why = 'put back: calls to it kept failing'
    return { rank: primary ? RANKS.brokenPrimary : RANKS.brokenBackup, why }
  }
  return primary ? HEALTHY_PRIMARY : HEALTHY_BACKUP
}

const HEALTHY_PRIMARY = { rank: RANKS.healthyPrimary, why: 'healthy primary' }
const HEALTHY_BACKUP = { rank: RANKS.healthyBackup, why: 'healthy backup' }

function troubleOf(node: NodeCandidate): string | undefined {
  if (node.state !== 'healthy') return node.state
  return node.silentMs > SILENT_LIMIT_MS ? `silent for ${Math.round(node.silentMs)} ms` : undefined
}
