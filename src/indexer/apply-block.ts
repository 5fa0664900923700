/**
 * A chain block was added: every transaction that it accepted becomes confirmed for its addresses, covenants and
 * tokens.
 */
import type { Network } from '../core/chain/network.ts'
import { isCoinbase } from '../core/chain/transaction.ts'
import type { ParsedTransaction } from '../parser/parse-transaction.ts'
import type { AcceptedTransaction, AddedBlock, KnownTransaction } from '../store/chain.ts'
import { addCovenantEvents, addTokenEvents } from './accepted-events.ts'
import { addParsedEvents, type EventBatch } from './batch.ts'
import { addMempoolEvents } from './enter-transactions.ts'
import { feeOf, type Movement, movementsOf } from './index-address.ts'
import { covenantChangesOf } from './index-covenants.ts'
import { parseOrPlain } from './parse-or-plain.ts'
import { parsedText } from './parsed-text.ts'
import type { ReadChainBlock } from './read-chain.ts'
import type { ApplyTokens } from './tokens/index-tokens.ts'

export interface ApplyBlockOptions {
  batch: EventBatch
  known: ReadonlyMap<string, KnownTransaction>
  applyTokens: ApplyTokens
}

/** A chain block with its transactions parsed. Those that cannot be parsed are `unreadable`, with their plain facts. */
export type ParsedChainBlock = ReturnType<typeof parseBlock>

export function parseBlock(block: ReadChainBlock, network: Network) {
  const unreadable = [...block.unreadable]
  const transactions = block.transactions.map((one) => {
    const { txId, transaction, spent } = one
    const { parsed, error } = parseOrPlain(transaction, { network, spent, txId })
    if (error !== null) unreadable.push({ txId, detail: error })
    return { ...one, parsed, fee: feeOf(parsed) }
  })
  return { ...block, transactions, unreadable }
}

export function applyBlock(block: ParsedChainBlock, options: ApplyBlockOptions): AddedBlock {
  const { batch, known, applyTokens } = options
  const { hash, blueScore, daaScore, timeMs } = block
  for (const { txId, transaction, parsed, fee } of block.transactions) {
    if (known.get(txId)?.hasMempoolEvent === true || isCoinbase(transaction)) continue
    addMempoolEvents(batch, parsed, { fee, isOrphan: false, firstSeen: 'block' })
  }
  const transactions = block.transactions.map((one): AcceptedTransaction => {
    const { txId, parsed, fee, spent, blockHash, blockTimeMs } = one
    const covenants = covenantChangesOf(parsed, spent)
    const effects = movementsOf(parsed).map((movement) => ({
      ...movement.effect,
      event: batch.add('utxos_changed', confirmation(parsed, movement, daaScore), [movement.effect.address]),
    }))
    if (known.get(txId)?.hasAcceptedEvent !== true) addParsedEvents(batch, parsed, 'accepted')
    const tokens = applyTokens(one)
    const retractable = [
      ...addCovenantEvents(batch, parsed, covenants, daaScore),
      ...addTokenEvents(batch, parsed, tokens.moves, daaScore),
    ]
    return {
      txId,
      parsed: parsedText(parsed),
      fee,
      effects,
      ...(covenants.length > 0 && { covenants }),
      ...(tokens.changes.length > 0 && { tokens: tokens.changes }),
      ...(retractable.length > 0 && { retractable }),
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
