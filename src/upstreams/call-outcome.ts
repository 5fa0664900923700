/**
 * The outcome of a call, and how it follows from its attempts. A failure is typed: code that answers callers never
 * interprets a node's text.
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
  /** The deadline came first. */
  | { readonly kind: 'timeout'; readonly detail: string }
  /** More calls are open than the nodes are given. */
  | { readonly kind: 'overloaded'; readonly detail: string }
  /** The caller's signal came first. */
  | { readonly kind: 'cancelled'; readonly detail: string }
  /** The node's answer is not the JSON it should be. */
  | { readonly kind: 'malformed_answer'; readonly detail: string; readonly node: string }

interface Traits {
  /** How many times something was sent (or tried to be) to a node. */
  readonly attempts: number
  /** A write of which some attempt may have reached a node although that attempt got no answer. */
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
  /** Until then there is an outcome. Default: twice the method's time limit. */
  deadlineMs?: number
  signal?: AbortSignal
  /** Polled now and then: once true, nobody waits for the outcome any more. Cheaper than a signal. */
  isAbandoned?: (() => boolean) | undefined
  /** The preferred node among equally healthy ones. */
  prefer?: string | undefined
  /** The first in the configuration among equally healthy nodes, rather than the fastest. */
  asConfigured?: boolean
}

export type AttemptResult =
  | { kind: 'result'; node: string; bytes: Buffer }
  | { kind: 'refused'; node: string; refusal: NodeRefusal }
  | { kind: 'fault'; node: string; fault: WireFault; detail: string }

/** What ended a call before an answer did. */
export type Stop = 'caller' | 'deadline'

/** An earlier attempt of ours arrived after all: the network has the transaction, and this is its id. */
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
