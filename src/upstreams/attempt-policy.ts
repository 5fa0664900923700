/** Decides when a call is retried, sent to another node, or hedged with a second attempt. Pure. */

import type { AttemptResult } from './call-outcome.ts'
import type { RefusalReason } from './classify.ts'
import type { RpcMethod } from './methods.ts'
import type { NodeLink } from './node-link.ts'

export const MAX_ATTEMPTS = 4
export const SECOND_ROUND_DELAY_MS = 100
/** How long a call waits for a node to come up when none is usable. */
export const NO_NODE_GRACE_MS = 1_000
export const HEDGE_BURST = 32
export const HEDGE_SHARE = 0.2

const MIN_WRITE_ATTEMPT_MS = 500
const HEDGE_QUANTILE = 0.95
/** A heavy answer may simply be large, and two copies of 50 MB in flight help nobody. */
const HEDGE_FLOOR_MS = { light: 25, heavy: 2_000 } as const
/** One slow answer of a healthy primary must not send a call to a backup. */
const HEDGE_TO_BACKUP_FLOOR_MS = 300
const HEDGE_UNKNOWN_MS = { light: 250, heavy: 3_000 } as const

/** Refusals by which the node says that it did not take the transaction, so a write may be sent to another node. */
const WRITE_ELSEWHERE: ReadonlySet<RefusalReason> = new Set([
  'orphan',
  'mempool_full',
  'not_synced',
  'no_utxo_index',
  'node_fault',
])
/** A second node is enough to confirm these. Asking all nodes would make every wrong hash expensive. */
const SECOND_OPINION: ReadonlySet<RefusalReason> = new Set(['unknown', 'block_not_found', 'pruned'])
/** Refusals that count as a fault of the node. */
const UNFIT: ReadonlySet<RefusalReason> = new Set(['not_synced', 'node_fault'])

export function isUnfit(reason: RefusalReason): boolean {
  return UNFIT.has(reason)
}

/** Whether the outcome of this attempt becomes the outcome of the call. */
export function isFinal(outcome: AttemptResult, method: RpcMethod, refusals: number): boolean {
  if (outcome.kind !== 'refused') return outcome.kind === 'result'
  const { reason, elsewhere } = outcome.refusal
  if (method.write) return !WRITE_ELSEWHERE.has(reason)
  return !elsewhere || (refusals > 1 && SECOND_OPINION.has(reason))
}

/**
 * Whether to wait for the attempts that are still running. Submissions go to the first configured node, so that node
 * knows what was just submitted; a "not found" that arrives earlier from another node proves nothing.
 */
export function waitsForOthers(outcome: AttemptResult, asConfigured: boolean, running: number): boolean {
  const isMissing = outcome.kind === 'refused' && outcome.refusal.reason === 'transaction_not_found'
  return asConfigured && isMissing && running > 0
}

/**
 * How long an attempt may run before a second node is asked as well. `order` lists the nodes, best first. With `stays`,
 * the answer of another node is of no use unless the call's own node hangs, so the wait is longer.
 */
export function hedgeAfterMs(
  method: RpcMethod,
  order: readonly NodeLink[],
  leftMs: number,
  stays: boolean,
): number {
  const [best, second] = order
  const usual = best?.latency(method).quantile(HEDGE_QUANTILE)
  const wantedMs = usual === undefined ? HEDGE_UNKNOWN_MS[method.connection] : usual * 1.5
  const toBackup = best?.tier === 'primary' && second?.tier === 'backup'
  const floorMs = Math.max(
    HEDGE_FLOOR_MS[method.connection],
    toBackup ? HEDGE_TO_BACKUP_FLOOR_MS : 0,
    stays ? Math.min(HEDGE_UNKNOWN_MS[method.connection], leftMs / 3) : 0,
  )
  return Math.max(floorMs, Math.min(wantedMs, method.timeoutMs / 2, leftMs / 3))
}

/**
 * A write leaves half of the remaining time for another node. The socket itself still waits for the method's full
 * limit.
 */
export function writeLimitMs(method: RpcMethod, leftMs: number): number {
  return Math.min(method.timeoutMs, Math.max(leftMs / 2, MIN_WRITE_ATTEMPT_MS))
}
