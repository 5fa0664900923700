import type { NodeRefusal } from '../../../upstreams/classify.ts'

/** A node's refusal as fields: the reason, and the numbers and ids in its text. */
export function refusalDetail(refusal: NodeRefusal): Record<string, string | bigint | number> {
  const { outpoint } = refusal
  const all: Record<string, string | bigint | number | undefined> = {
    reason: refusal.reason,
    tx_id: refusal.transactionId,
    other_tx_id: refusal.otherTransactionId,
    spent_tx_id: outpoint?.transactionId,
    spent_index: outpoint?.index,
    fee_sompi: refusal.feeSompi,
    required_fee_sompi: refusal.requiredFeeSompi,
    mass_kind: refusal.massKind,
    mass: refusal.mass,
    mass_limit: refusal.massLimit,
  }
  const allowed = Object.entries(all).filter((entry): entry is [string, string | bigint | number] => {
    return entry[1] !== undefined && entry[1] !== ''
  })
  return Object.fromEntries(allowed)
}
