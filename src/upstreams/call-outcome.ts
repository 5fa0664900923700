/**
 * The outcome of a call and how it is derived from its attempts. Failures are typed, so that code which answers callers
 * never has to interpret a node's text.
 */
import type { FieldFault } from '../core/chain/field-reader.ts'
import type { ExactJson } from '../kit/exact-json.ts'
import { isAlreadyKnown, type NodeRefusal } from './classify.ts'
import type { WireFault } from './open-calls.ts'
import type { ValidCall } from './validate-params.ts'

export type CallFailure =
  /** Nothing was sent: the method or its params are not allowed. */
  | {
      readonly kind: 'unknown_method' | 'blocked_method' | 'invalid_params'
      readonly faults: readonly FieldFault[]
    }
  /** A node answered and refused. */
  | { readonly kind: 'refused'; readonly refusal: NodeRefusal; readonly node: string }
  /** No node could answer. */
  | { readonly kind: 'unavailable'; readonly detail: string }
  /** The deadline passed before an answer arrived. */
  | { readonly kind: 'timeout'; readonly detail: string }
  /** Every node that was tried already had its maximum of open calls. */
  | { readonly kind: 'overloaded'; readonly detail: string }
  /** The caller cancelled before an answer arrived. */
  | { readonly kind: 'cancelled'; readonly detail: string }
  /** The node's answer is not valid JSON. */
  | { readonly kind: 'malformed_answer'; readonly detail: string; readonly node: string }

interface Traits {
  /** How many attempts were made, including those that could not be sent. */
  readonly attempts: number
  /** True if a write may have reached a node on an attempt that got no answer. */
  readonly inDoubt: boolean
}

export type CallOutcome = Traits &
  (
    | { readonly ok: true; readonly node: string; readonly bytes: Buffer }
    | { readonly ok: false; readonly failure: CallFailure }
  )

export type ParsedOutcome = Traits &
  (
    | { readonly ok: true; readonly node: string; readonly value: ExactJson }
    | { readonly ok: false; readonly failure: CallFailure }
  )

export interface CallOptions {
  /** The call has an outcome within this time. Default: twice the method's time limit. */
  deadlineMs?: number
  signal?: AbortSignal
  /** Polled while the call runs; true means that nobody waits for the outcome any more. Cheaper than a signal. */
  isAbandoned?: (() => boolean) | undefined
  /** The preferred node among equally healthy ones. */
  prefer?: string | undefined
  /** Nodes that come after all other healthy ones, because their answers were of no use. */
  avoid?: ReadonlySet<string> | undefined
  /**
   * For several calls whose answers belong together: use this node while it is healthy and can answer, even if it is a
   * backup or its breaker is open. If it fails, another node answers.
   */
  stayOn?: string | undefined
  /** Among equally healthy nodes, take the first in the configuration instead of the fastest. */
  asConfigured?: boolean
  /** For calls of the index: they go before callers' heavy calls, which also leave one socket free for them. */
  isPriority?: boolean
}

export type AttemptResult =
  | { kind: 'result'; node: string; bytes: Buffer }
  | { kind: 'refused'; node: string; refusal: NodeRefusal }
  | { kind: 'fault'; node: string; fault: WireFault; detail: string }

/** What ended a call before it was answered. */
export type Stop = 'caller' | 'deadline'

/**
 * If a submission may already have arrived and the node now says that it knows the transaction, the call succeeded and
 * the outcome carries the transaction's id.
 */
export function refusedOutcome(
  call: ValidCall,
  winner: { node: string; refusal: NodeRefusal },
  traits: { attempts: number; inDoubt: boolean },
): CallOutcome {
  const { node, refusal } = winner
  if (traits.inDoubt && call.method.name === 'submitTransaction' && isAlreadyKnown(refusal)) {
    const bytes = Buffer.from(`{"transactionId":"${refusal.transactionId ?? ''}"}`)
    return { ok: true, node, bytes, ...traits }
  }
  return { ok: false, failure: { kind: 'refused', refusal, node }, ...traits }
}

export function failureOf(
  losers: readonly AttemptResult[],
  stop: Stop | undefined,
  budgetMs: number,
): CallFailure {
  if (stop === 'caller') return { kind: 'cancelled', detail: 'the caller left' }
  const refused = losers.findLast((loser) => loser.kind === 'refused')
  if (refused !== undefined) return { kind: 'refused', refusal: refused.refusal, node: refused.node }
  const faults = losers.filter((loser) => loser.kind === 'fault')
  const detail = faults.map(({ node, detail }) => (node === '' ? detail : `${node}: ${detail}`)).join('; ')
  if (stop === 'deadline') return { kind: 'timeout', detail: detail || `no answer within ${budgetMs} ms` }
  if (faults.length > 0 && faults.every(({ fault }) => fault === 'overloaded'))
    return { kind: 'overloaded', detail }
  return { kind: 'unavailable', detail: detail || 'no node is usable' }
}
