/** From the tries of a call to its outcome. */
import { isAlreadyKnown, type NodeRefusal } from './classify.ts'
import type { WireFault } from './open-calls.ts'
import type { CallFailure, CallOutcome } from './outcome.ts'
import type { ValidCall } from './validate-params.ts'

export type TryResult =
  | { kind: 'result'; node: string; bytes: Buffer }
  | { kind: 'refused'; node: string; refusal: NodeRefusal }
  | { kind: 'fault'; node: string; fault: WireFault; detail: string }

/** What ended a call before an answer did. */
export type Stop = 'caller' | 'deadline'

/** An earlier try of ours arrived after all: the network has the transaction, and this is its id. */
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
  losers: readonly TryResult[],
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
