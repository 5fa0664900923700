/** When a call is tried again, elsewhere, or beside a running attempt. Pure. */

import type { AttemptResult } from './call-outcome.ts'
import type { RefusalReason } from './classify.ts'
import type { RpcMethod } from './methods.ts'
import type { NodeLink } from './node-link.ts'

export const MAX_ATTEMPTS = 4
export const SECOND_ROUND_DELAY_MS = 100
/** How long a call waits for a node to come up when there is none. */
export const NO_NODE_GRACE_MS = 1_000
export const HEDGE_BURST = 32
export const HEDGE_SHARE = 0.2

const MIN_WRITE_ATTEMPT_MS = 500
const HEDGE_QUANTILE = 0.95
/** A heavy answer may just be large: two copies of 50 MB in flight help nobody. */
const HEDGE_FLOOR_MS = { light: 25, heavy: 2_000 } as const
/** A backup is not used because of one failure of a healthy primary. */
const HEDGE_TO_BACKUP_FLOOR_MS = 300
const HEDGE_UNKNOWN_MS = { light: 250, heavy: 3_000 } as const

/** Refusals after which a write may go elsewhere: the node reports that it did not take the transaction. */
const WRITE_ELSEWHERE: ReadonlySet<RefusalReason> = new Set([
  'orphan',
  'mempool_full',
  'not_synced',
  'no_utxo_index',
  'node_fault',
])
/** Querying one more node is enough for these; querying all would make every wrong hash expensive. */
const SECOND_OPINION: ReadonlySet<RefusalReason> = new Set(['unknown', 'block_not_found', 'pruned'])
/** An answer that counts as a fault of the node. */
const UNFIT: ReadonlySet<RefusalReason> = new Set(['not_synced', 'node_fault'])

export function isUnfit(reason: RefusalReason): boolean {
  return UNFIT.has(reason)
}

/** Whether the outcome of an attempt is the outcome of the call. */
export function isFinal(outcome: AttemptResult, method: RpcMethod, refusals: number): boolean {
  if (outcome.kind !== 'refused') return outcome.kind === 'result'
  const { reason, elsewhere } = outcome.refusal
  if (method.write) return !WRITE_ELSEWHERE.has(reason)
  return !elsewhere || (refusals > 1 && SECOND_OPINION.has(reason))
}

/**
 * Whether the answer waits for the attempts that still run. The first node in the order of submissions is the one that has
 * what was just submitted: another that answers sooner, without it, is no proof against it.
 */
export function waitsForOthers(outcome: AttemptResult, asConfigured: boolean, running: number): boolean {
  const isMissing = outcome.kind === 'refused' && outcome.refusal.reason === 'transaction_not_found'
  return asConfigured && isMissing && running > 0
}

/** How long an attempt may run before another node is queried beside it; `order`: the nodes, best first. */
export function hedgeAfterMs(method: RpcMethod, order: readonly NodeLink[], leftMs: number): number {
  const [best, second] = order
  const usual = best?.latency(method).quantile(HEDGE_QUANTILE)
  const wantedMs = usual === undefined ? HEDGE_UNKNOWN_MS[method.connection] : usual * 1.5
  const toBackup = best?.tier === 'primary' && second?.tier === 'backup'
  const floorMs = Math.max(HEDGE_FLOOR_MS[method.connection], toBackup ? HEDGE_TO_BACKUP_FLOOR_MS : 0)
  return Math.max(floorMs, Math.min(wantedMs, method.timeoutMs / 2, leftMs / 3))
}

/** A write leaves half of the remaining time for another node; the socket itself waits the full limit. */
export function writeLimitMs(method: RpcMethod, leftMs: number): number {
  return Math.min(method.timeoutMs, Math.max(leftMs / 2, MIN_WRITE_ATTEMPT_MS))
}
