/**
 * Derives a node's health from its probes, with hysteresis. Pure.
 *
 *   unknown ──first probe──▶ healthy | lagging | unsynced | wrong_network | down
 *   healthy ──`badProbes` bad ones in a row──▶ that state      (wrong_network: at once)
 *   any bad ──`goodProbes` good ones in a row──▶ healthy
 *
 * Lag has two thresholds: a node becomes lagging above `lagOut` and recovers only at `lagIn` or less.
 */
export type NodeState = 'unknown' | 'healthy' | 'lagging' | 'unsynced' | 'wrong_network' | 'down'

export interface ServerInfo {
  readonly networkId: string
  readonly isSynced: boolean
  readonly hasUtxoIndex: boolean
  readonly virtualDaaScore: number
  readonly serverVersion: string
}

/** A probe's answer; undefined if the probe failed or took too long. */
export type ProbeResult = ServerInfo | undefined

export interface HealthPolicy {
  network: string
  lagOut: number
  lagIn: number
  badProbes: number
  goodProbes: number
}

export interface NodeHealth {
  readonly state: NodeState
  readonly info: ProbeResult
  /** DAA scores behind the best node; 0 for the best */
  readonly lag: number
  /** what the latest probes found; differs from `state` until enough probes agree */
  readonly leaning: NodeState
  readonly leaningProbes: number
}

export const UNKNOWN_HEALTH: NodeHealth = {
  state: 'unknown',
  info: undefined,
  lag: 0,
  leaning: 'unknown',
  leaningProbes: 0,
}

export function observe(
  before: NodeHealth,
  seen: ProbeResult,
  bestScore: number,
  policy: HealthPolicy,
): NodeHealth {
  const lag = seen === undefined ? before.lag : Math.max(0, bestScore - seen.virtualDaaScore)
  const verdict = judge(before.state, seen, lag, policy)
  const info = seen ?? before.info
  if (verdict === before.state) return { state: verdict, info, lag, leaning: verdict, leaningProbes: 0 }
  const leaningProbes = verdict === before.leaning ? before.leaningProbes + 1 : 1
  const needed = verdict === 'healthy' ? policy.goodProbes : policy.badProbes
  const decided = before.state === 'unknown' || verdict === 'wrong_network' || leaningProbes >= needed
  return decided
    ? { state: verdict, info, lag, leaning: verdict, leaningProbes: 0 }
    : { state: before.state, info, lag, leaning: verdict, leaningProbes }
}

/** A node that is down may still be sent calls as a last resort, but it is not expected to answer them. */
export function isExpectedToAnswer({ state, connected }: { state: NodeState; connected: boolean }): boolean {
  return connected && (state === 'healthy' || state === 'lagging' || state === 'unsynced')
}

function judge(state: NodeState, seen: ProbeResult, lag: number, policy: HealthPolicy): NodeState {
  if (seen === undefined) return 'down'
  if (seen.networkId !== policy.network) return 'wrong_network'
  if (!seen.isSynced) return 'unsynced'
  return lag > (state === 'lagging' ? policy.lagIn : policy.lagOut) ? 'lagging' : 'healthy'
}
