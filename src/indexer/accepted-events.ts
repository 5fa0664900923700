/** Events about what an accepted transaction did to covenants and tokens, and the events that retract them. */
import type { EventData } from '../events/event.ts'
import type { EventKind } from '../events/kinds.ts'
import { parseExact } from '../kit/exact-json.ts'
import type { ParsedTransaction } from '../parser/parse-transaction.ts'
import type { CovenantChange } from '../store/covenants.ts'
import type { RetractableEvent } from '../store/tokens.ts'
import type { EventBatch } from './batch.ts'
import { genesesOf } from './index-covenants.ts'
import type { TokenCell, TokenMove } from './tokens/token-move.ts'

/** Returns the positions of the events in the batch. */
export function addCovenantEvents(
  batch: EventBatch,
  parsed: ParsedTransaction,
  changes: readonly CovenantChange[],
  daaScore: number,
): number[] {
  if (changes.length === 0) return []
  const accepted = { tx_id: parsed.tx_id, daa_score: daaScore, retracted: false, retracts: null }
  const geneses = genesesOf(parsed)
  const inputsByPoint = new Map(parsed.inputs.map((input) => [`${input.tx_id} ${input.index}`, input]))
  return changes.flatMap(({ covenantId, spent, created }) => {
    const places: number[] = []
    if (spent.length > 0) {
      const inputs = spent.map(({ txId, index }) => {
        const input = inputsByPoint.get(`${txId} ${index}`)
        return {
          tx_id: txId,
          index,
          amount_sompi: input?.amount_sompi ?? 0n,
          address: input?.address ?? null,
          signed: input?.signed ?? null,
        }
      })
      const data = { covenant_id: covenantId, ...accepted, is_burn: created.length === 0, inputs }
      places.push(batch.add('covenant_spent', data, addressesOf(inputs)))
    }
    if (created.length > 0) {
      const outputs = created.map(({ index, amount, address }) => ({
        tx_id: parsed.tx_id,
        index,
        amount_sompi: amount,
        address,
      }))
      const data = {
        covenant_id: covenantId,
        ...accepted,
        is_genesis: geneses.has(covenantId),
        outputs,
      }
      places.push(batch.add('covenant_created', data, addressesOf(outputs)))
    }
    return places
  })
}

export function addTokenEvents(
  batch: EventBatch,
  parsed: ParsedTransaction,
  moves: readonly TokenMove[],
  daaScore: number,
): number[] {
  return moves.map(({ tokenId, form, operation, isValid, from, to }) => {
    const data = {
      token_id: tokenId,
      form,
      tx_id: parsed.tx_id,
      daa_score: daaScore,
      retracted: false,
      retracts: null,
      operation,
      valid: isValid,
      from: from.map((source) => ({ ...cellOf(source), signed: source.signed })),
      to: to.map(cellOf),
    }
    const holders = [...from, ...to].map(({ holder }) => ({ address: holder }))
    // Owners without an address are named by their kind, such as `covenant:…`.
    return batch.add('token_transfer', data, addressesOf(holders).filter(isAddress))
  })
}

/** Repeats the data of each event with `retracted: true` and names the event in `retracts`. */
export function retractEvents(events: readonly RetractableEvent[], batch: EventBatch): void {
  for (const { eventId, tail } of events) {
    const read = parseExact(`{${tail}`)
    if (!read.ok) throw new Error(`event ${eventId} cannot be read`)
    const { kind, addresses, data } = read.value as unknown as {
      kind: EventKind
      addresses: string[]
      data: EventData['covenant_created']
    }
    batch.add(kind, { ...data, retracted: true, retracts: eventId } as EventData[typeof kind], addresses)
  }
}

function cellOf({ holder, amount }: TokenCell) {
  return { holder, amount: amount === null ? null : amount.toString() }
}

function addressesOf(cells: readonly { readonly address: string | null }[]): string[] {
  return [...new Set(cells.flatMap(({ address }) => address ?? []))]
}

function isAddress(holder: string): boolean {
  return !/^(?:covenant|presence):/.test(holder)
}
