/** Chain blocks that were removed: each confirmation that they made is retracted by an event of its own. */
import { parseExact } from '../kit/exact-json.ts'
import type { ParsedTransaction } from '../parser/parse-transaction.ts'
import type { Confirmation } from '../store/chain.ts'
import { confirmation } from './apply-block.ts'
import type { EventBatch } from './batch.ts'
import { movementsOf } from './index-address.ts'

/** The same movement as the event that it names, with `retracted: true`. */
export function revertBlocks(confirmations: readonly Confirmation[], batch: EventBatch): void {
  for (const { parsed: text, events, acceptingDaaScore } of confirmations) {
    const parsed = readParsed(text)
    const movements = new Map(movementsOf(parsed).map((movement) => [movement.effect.address, movement]))
    for (const { address, eventId } of events) {
      const movement = movements.get(address)
      if (movement === undefined) continue
      const confirmed = confirmation(parsed, movement, acceptingDaaScore)
      batch.add('utxos_changed', { ...confirmed, retracted: true, retracts: eventId }, [address])
    }
  }
}

/** The stored text holds plain integers; amounts become bigints again. */
function readParsed(text: string): ParsedTransaction {
  const read = parseExact(text)
  if (!read.ok) throw new Error(`a stored transaction cannot be read: ${read.message}`)
  const parsed = read.value as unknown as ParsedTransaction
  const exact = <T extends { readonly amount_sompi: bigint | null }>(cell: T): T => ({
    ...cell,
    amount_sompi: cell.amount_sompi === null ? null : BigInt(cell.amount_sompi),
  })
  return { ...parsed, inputs: parsed.inputs.map(exact), outputs: parsed.outputs.map(exact) }
}
