/** A chain block that was added: every transaction it accepted is confirmed, for every address in it. */
import type { Network } from '../core/chain/network.ts'
import { type ExactJson, writeExact } from '../kit/exact-json.ts'
import { type ParsedTransaction, parseTransaction } from '../parser/parse-transaction.ts'
import type { AcceptedTransaction, AddedBlock, KnownTransaction } from '../store/chain.ts'
import { addParsedEvents, type EventBatch } from './batch.ts'
import { feeOf, type Movement, movementsOf } from './index-address.ts'
import type { ReadChainBlock } from './read-chain.ts'

export interface ApplyBlockOptions {
  network: Network
  batch: EventBatch
  known: ReadonlyMap<string, KnownTransaction>
}

export function applyBlock(block: ReadChainBlock, options: ApplyBlockOptions): AddedBlock {
  const { network, batch, known } = options
  const { hash, blueScore, daaScore, timeMs } = block
  const transactions = block.transactions.map((read): AcceptedTransaction => {
    const { txId, transaction, spent, blockHash, blockTimeMs } = read
    const parsed = parseTransaction(transaction, { network, spent, txId })
    const effects = movementsOf(parsed).map((movement) => ({
      ...movement.effect,
      event: batch.add('utxos_changed', confirmation(parsed, movement, daaScore), [movement.effect.address]),
    }))
    if (known.get(txId)?.hasAcceptedEvent !== true) addParsedEvents(batch, parsed, 'accepted')
    return {
      txId,
      parsed: parsedText(parsed),
      fee: feeOf(parsed),
      effects,
      blockHash,
      blockTimeMs,
    }
  })
  return { hash, blueScore, daaScore, timeMs, transactions }
}

/** As it is stored and served. */
export function parsedText(parsed: ParsedTransaction): string {
  return writeExact(parsed as unknown as ExactJson)
}

export function confirmation(parsed: Pick<ParsedTransaction, 'tx_id'>, movement: Movement, daaScore: number) {
  const { tx_id } = parsed
  return {
    address: movement.effect.address,
    tx_id,
    added: movement.outputs.map(({ index, amount_sompi }) => ({ tx_id, index, amount_sompi })),
    removed: movement.inputs.map((input) => ({
      tx_id: input.tx_id,
      index: input.index,
      amount_sompi: input.amount_sompi ?? 0n,
    })),
    daa_score: daaScore,
    retracted: false,
    retracts: null,
  }
}
