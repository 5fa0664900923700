/** Law 7, row by row: every member of what is served about a transaction and about an address in the transaction. */
import { isDeepStrictEqual } from 'node:util'
import type { Chain } from '../../../sandbox/node/chain.ts'
import type { AddressRow, ChainStores, TransactionRow } from '../../../src/store/chain.ts'
import type { ArchivedBlock } from './archive.ts'
import type { TransactionTruth, TruthOf } from './transaction-truth.ts'

const MAX_PENDING = 100_000

type Members = Readonly<Record<string, unknown>>

export interface AcceptedBy {
  readonly acceptingBlock: ArchivedBlock
  readonly blockHash: string
  readonly blockTimeMs: number
}

/** The first member that is not as expected. */
function different(what: string, found: Members | undefined, expected: Members): string[] {
  const text = (value: unknown) =>
    JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each))
  for (const [name, value] of Object.entries(expected))
    if (!isDeepStrictEqual(found?.[name], value))
      return [`7 ${name} of ${what} is ${text(found?.[name])}, the node has ${text(value)}`]
  return []
}

/** A transaction that was accepted. */
export function compareTransactionRow(
  row: TransactionRow | undefined,
  truth: TransactionTruth,
  { acceptingBlock, blockHash, blockTimeMs }: AcceptedBy,
): string[] {
  const { txId, fee, inputs, outputs, tags } = truth
  const what = `transaction ${txId}`
  const wrong = different(what, row as unknown as Members, {
    ...{ status: 'confirmed', fee, blockHash, blockTimeMs, replacedBy: null },
    acceptingBlockHash: acceptingBlock.hash,
    acceptingBlockTimeMs: acceptingBlock.timeMs,
    acceptingBlueScore: acceptingBlock.blueScore,
  })
  if (row === undefined || wrong.length > 0) return wrong
  return different(what, JSON.parse(row.parsed) as Members, {
    tx_id: txId,
    inputs: inputs.map(({ txId: from, index, address, amount }) => ({
      // Everything that the simulated traffic spends is signed by a key.
      ...{ tx_id: from, index, address, amount_sompi: Number(amount), signed: true },
    })),
    ...{ outputs, tags },
  })
}

/** What the transaction means for an address: the net amount and the counterparty. */
export function compareAddressRow(row: AddressRow, truth: TransactionTruth, address: string): string[] {
  const inputs = truth.inputs.map((input) => ({ address: input.address, amount: input.amount }))
  const outputs = truth.outputs.map((output) => ({
    address: output.address,
    amount: BigInt(output.amount_sompi),
  }))
  const sum = (cells: typeof inputs) =>
    cells.reduce((total, cell) => (cell.address === address ? total + cell.amount : total), 0n)
  const [received, sent] = [sum(outputs), sum(inputs)]
  const net = received - sent
  const isAlone = inputs.length > 0 && [...inputs, ...outputs].every((cell) => cell.address === address)
  // Neither gain nor loss: what was spent came back, as with a covenant that continues under the same owner.
  const direction = isAlone || net === 0n ? 'self' : net > 0n ? 'receive' : 'send'
  const foreign = (direction === 'receive' ? inputs : outputs).filter((cell) => cell.address !== address)
  const largest = foreign.reduce((most, { amount }) => (amount > most ? amount : most), 0n)
  const wrong = different(`the row of ${truth.txId} for ${address}`, row as unknown as Members, {
    ...{ received, sent, direction, amount: net < 0n ? -net : net },
  })
  // If several are equally large, any of them.
  const partners = foreign.flatMap((cell) => (cell.amount === largest ? [cell.address] : []))
  if (direction === 'self' || partners.length === 0) partners.splice(0, partners.length, null)
  if (!partners.includes(row.counterparty))
    wrong.push(`7 the counterparty of ${truth.txId} for ${address} is ${row.counterparty}`)
  return wrong
}

/** Once nothing changes any more, the pending transactions are those in the mempools of the nodes. */
export async function comparePending(
  stores: ChainStores,
  { mempool, truthOf }: { mempool: Chain['mempool']; truthOf: TruthOf },
  { lostAtMs, mayBeStale }: { lostAtMs: number | undefined; mayBeStale: boolean },
): Promise<string[]> {
  const wrong: string[] = []
  const entries = mempool.entries({ pool: true, orphans: true })
  for (const { tx, isOrphan } of entries) {
    const truth = truthOf(tx.id)
    const row = await stores.chain.transaction(tx.id)
    if (row?.status !== 'pending' || truth === undefined) {
      wrong.push(`7 ${tx.id} is in the mempool, the index has it as ${row?.status ?? 'nothing'}`)
      continue
    }
    // An orphan gets its fee and rows when it is in the mempool proper.
    if (isOrphan) continue
    wrong.push(...different(`pending ${tx.id}`, { fee: row.fee }, { fee: truth.fee }))
    const spent = await stores.chain.outputs(truth.inputs)
    for (const address of new Set(
      [...truth.inputs, ...truth.outputs].flatMap((cell) => cell.address ?? []),
    )) {
      const { rows } = await stores.chain.addressPage({ address, limit: 200 })
      const own = rows.find(({ txId }) => txId === tx.id)
      if (own?.status === 'pending') wrong.push(...compareAddressRow(own, truth, address))
      // While it spends an output that is older than the index, its sender is unknown, and so are all its rows.
      else if (own !== undefined || !spent.includes(undefined))
        wrong.push(`7 ${tx.id} is not among the pending ones of ${address}`)
    }
  }
  const present = new Set(entries.map(({ tx }) => tx.id))
  for (const txId of mayBeStale ? [] : await stores.chain.pending(MAX_PENDING, lostAtMs))
    if (!present.has(txId)) wrong.push(`7 ${txId} is pending, and in no mempool`)
  return wrong
}
