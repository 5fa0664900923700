/** Chain blocks were removed: an event retracts each confirmation that they made. */
import type { Outpoint } from '../core/chain/transaction.ts'
import type { Confirmation } from '../store/chain.ts'
import { confirmation } from './apply-block.ts'
import type { EventBatch } from './batch.ts'
import { movementsOf } from './index-address.ts'
import { readParsed } from './parsed-text.ts'

/** A transaction that is pending again, and what it spends. */
export interface UnconfirmedTransaction {
  readonly txId: string
  readonly spends: readonly Outpoint[]
}

/** Repeats the movement of each event with `retracted: true` and names the event in `retracts`. */
export function revertBlocks(
  confirmations: readonly Confirmation[],
  batch: EventBatch,
): UnconfirmedTransaction[] {
  return confirmations.map(({ txId, parsed: text, events, acceptingDaaScore }) => {
    const parsed = readParsed(text)
    const movements = new Map(movementsOf(parsed).map((movement) => [movement.effect.address, movement]))
    for (const { address, eventId } of events) {
      const movement = movements.get(address)
      if (movement === undefined) continue
      const confirmed = confirmation(parsed, movement, acceptingDaaScore)
      batch.add('utxos_changed', { ...confirmed, retracted: true, retracts: eventId }, [address])
    }
    const spends = parsed.inputs.map(({ tx_id, index }) => ({ transactionId: tx_id, index }))
    return { txId, spends }
  })
}
