/**
 * Decides which nodes may get a call and in which order, and can explain the result. Pure.
 *
 * Nodes are grouped into classes; inside a class the one with the shortest expected wait comes first. An unhealthy node
 * comes last but is not excluded: as long as one connected node of the right network exists, calls have a target. Only
 * nodes that cannot or must not answer are left out: not connected, on another network, or never probed.
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
  /** nodes that this call has already tried */
  readonly exclude?: ReadonlySet<string>
  /**
   * For hedges: excludes nodes that are unhealthy or avoided, because such a node must not win the race with a stale or
   * useless answer.
   */
  readonly wellOnly?: boolean
  /** Comes first in its class. A caller that follows one node's view asks the same node again. */
  readonly prefer?: string | undefined
  /** Come after all other healthy ones. */
  readonly avoid?: ReadonlySet<string> | undefined
  /** Comes before all others, whatever its tier and breaker, as long as it is healthy and can answer at all. */
  readonly stayOn?: string | undefined
  /**
   * Inside a class, use the order of the configuration instead of speed, so that every process tries the same node
   * first.
   */
  readonly asConfigured?: boolean | undefined
}

export interface NodeChoice {
  /** best first */
  readonly order: readonly string[]
  readonly explain: readonly { readonly node: string; readonly why: string }[]
}

/** A node that has sent nothing for this long while calls wait counts as unhealthy, even before a probe fails. */
const SILENT_LIMIT_MS = 1_000

export function choose(nodes: readonly NodeCandidate[], need: CallNeed): NodeChoice {
  const explain = nodes.map((node) => ({ node: node.name, why: rank(node, need).why }))
  return { order: orderOf(nodes, need), explain }
}

/** Only the order, without explanations, because this runs for every call. */
export function orderOf(nodes: readonly NodeCandidate[], need: CallNeed): string[] {
  const usable: { node: NodeCandidate; rank: number }[] = []
  for (const node of nodes) {
    const { rank: found } = rank(node, need)
    if (found !== undefined) usable.push({ node, rank: found })
  }
  const first = need.stayOn ?? need.prefer
  if (usable.length > 1) {
    usable.sort(
      (a, b) =>
        a.rank - b.rank ||
        Number(b.node.name === first) - Number(a.node.name === first) ||
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
  stayedOn: -1,
  healthyPrimary: 0,
  healthyBackup: 1,
  brokenPrimary: 2,
  brokenBackup: 3,
  avoided: 4,
  unhealthyPrimary: 5,
  unhealthyBackup: 6,
  withoutIndex: 7,
}

function rank(node: NodeCandidate, need: CallNeed): { rank: number | undefined; why: string } {
  const isStayedOn = node.name === need.stayOn
  const primary = node.tier === 'primary' || isStayedOn
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
  if (isStayedOn) return { rank: RANKS.stayedOn, why: 'the call stays on it' }
  if (need.avoid?.has(node.name)) {
    if (need.wellOnly) return { rank: undefined, why: 'not beside another: its answers were of no use' }
    return { rank: RANKS.avoided, why: 'put back: its answers were of no use' }
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
