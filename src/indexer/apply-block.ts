/** A chain block that was added: every transaction it accepted is confirmed, for every address in it. */
import type { Network } from '../core/chain/network.ts'
import { isCoinbase } from '../core/chain/transaction.ts'
import { type ParsedTransaction, parseTransaction } from '../parser/parse-transaction.ts'
import type { AcceptedTransaction, AddedBlock, KnownTransaction } from '../store/chain.ts'
import { addParsedEvents, type EventBatch } from './batch.ts'
import { addMempoolEvents } from './enter-transactions.ts'
import { feeOf, type Movement, movementsOf } from './index-address.ts'
import { covenantChangesOf } from './index-covenants.ts'
import { parsedText } from './parsed-text.ts'
import type { ReadChainBlock } from './read-chain.ts'

export interface ApplyBlockOptions {
  network: Network
  batch: EventBatch
  known: ReadonlyMap<string, KnownTransaction>
}

export function applyBlock(block: ReadChainBlock, options: ApplyBlockOptions): AddedBlock {
  const { network, batch, known } = options
  const { hash, blueScore, daaScore, timeMs } = block
  const read = block.transactions.map((one) => {
    const { txId, transaction, spent } = one
    const parsed = parseTransaction(transaction, { network, spent, txId })
    return { ...one, parsed, fee: feeOf(parsed) }
  })
  for (const { txId, transaction, parsed, fee } of read) {
    if (known.get(txId)?.hasMempoolEvent === true || isCoinbase(transaction)) continue
    addMempoolEvents(batch, parsed, { fee, isOrphan: false, firstSeen: 'block' })
  }
  const transactions = read.map((one): AcceptedTransaction => {
    const { txId, parsed, fee, spent, blockHash, blockTimeMs } = one
    const covenants = covenantChangesOf(parsed, spent)
    const effects = movementsOf(parsed).map((movement) => ({
      ...movement.effect,
      event: batch.add('utxos_changed', confirmation(parsed, movement, daaScore), [movement.effect.address]),
    }))
    if (known.get(txId)?.hasAcceptedEvent !== true) addParsedEvents(batch, parsed, 'accepted')
    return {
      txId,
      parsed: parsedText(parsed),
      fee,
      effects,
      ...(covenants.length > 0 && { covenants }),
      blockHash,
      blockTimeMs,
    }
  })
  return { hash, blueScore, daaScore, timeMs, transactions }
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
