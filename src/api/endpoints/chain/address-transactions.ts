import { Type } from 'typebox'
import { base } from '../../../contract/costs.ts'
import { wrappedList } from '../../../contract/endpoint.ts'
import { previewAnswer, wrappedPage } from '../../../contract/envelopes.ts'
import { cursorPage } from '../../../contract/params.ts'
import { networkInfo } from '../../../core/chain/network.ts'
import {
  flagField,
  integerField,
  nullableTextField,
  nullableTimeField,
  textField,
} from '../../../core/rows/fields.ts'
import type { AddressRow, HistoryPlace } from '../../../store/chain.ts'
import { otherCursor } from '../other-cursor.ts'
import { endpoint } from '../services.ts'
import type { ChainData } from './chain-data.ts'
import { addressPathParam, requireNetwork } from './chain-params.ts'
import { nodeTime } from './node-time.ts'

const AddressTransaction = Type.Object({
  tx_id: textField('Transaction id.'),
  direction: textField('receive, send, or self (all inputs and outputs are its own; the amount is the fee).'),
  amount_sompi: integerField("Net of the address's own inputs and outputs, in sompi."),
  asset: textField('KAS, TKAS on test networks.'),
  status: textField('pending, confirmed or dropped.'),
  counterparty: nullableTextField('Address of the largest foreign input or output; null if none is known.'),
  block_time: nullableTimeField('Time of the block that carries it; null while pending.'),
  event_kind: textField('mempool_entry while pending, utxos_changed once accepted.'),
})

const AddressTransactions = Type.Object({
  address: textField('The address asked for.'),
  items: Type.Array(AddressTransaction, {
    description: 'Pending first, then by block time and acceptance, newest first; one for each transaction.',
  }),
  next_cursor: nullableTextField('Pass it as `cursor` to get the next page; null on the last.'),
  coverage_from: nullableTimeField('From when on every transaction is indexed: after the last gap.'),
  coverage: Type.Object(
    {
      from: nullableTimeField('From when on transactions are indexed; null before the first start.'),
      to: nullableTimeField('Time of the last indexed chain block.'),
      complete: flagField('Whether nothing is missing in between.'),
      gaps: Type.Array(
        Type.Object({
          from: nullableTimeField('Time of the last block before the gap.'),
          to: nullableTimeField('Time of the first block after it.'),
          reason: textField(
            'pruned: the nodes no longer had that part of the chain. unreadable: transactions of that block are in a form that is not known.',
          ),
        }),
        { description: 'What is missing, for every address; the newest 100, oldest first.' },
      ),
    },
    { description: 'What the history reaches over.' },
  ),
  credits_used: integerField('Credits that this answer cost.'),
})

const cost = base(10).perRow(1)
const MAX_GAPS = 100

export const addressTransactions = endpoint({
  path: 'GET /v1/addresses/{address}/transactions',
  doc: {
    tag: 'node',
    summary: 'History of an address',
    description:
      'Every transaction since the index was started, for every address, without registration. Pending transactions come first, newest first, then confirmed ones by block time and by the order in which they were accepted; a dropped one stands where it was first seen. Rows that arrive during a walk do not shift it; a transaction that is accepted during a walk moves to the place of its block, and one whose block leaves the chain back to the top.',
  },
  access: { scope: 'node', tier: 'pro', feature: 'address_history' },
  params: {
    address: addressPathParam,
    ...cursorPage('Rows per page.', { default: 50, max: 200 }),
  },
  cost,
  returns: wrappedList('AddressTransaction', AddressTransaction, {
    name: 'AddressTransactions',
    schema: AddressTransactions,
    cursor: 'cursor',
  }),
  run: async ({ input, services, rowLimit, dryRun }) => {
    const { index, cursors, upstreams } = services.chain
    const { address, cursor } = input
    requireNetwork(address, upstreams.network)
    const binding = `/v1/addresses/${address}/transactions`
    const before = cursor === undefined ? undefined : readCursor(cursors.decode(binding, cursor))
    const page = await index.addressPage({
      address,
      limit: rowLimit,
      ...(before === undefined ? {} : { before }),
    })
    if (dryRun) return previewAnswer(page.rows.length, false)
    const last = page.rows.at(-1)
    const next =
      page.hasMore && last !== undefined
        ? cursors.encode(binding, [last.place.timeMs, last.place.rank])
        : null
    const { coin } = networkInfo(upstreams.network)
    const coverageFrom = nodeTime((await index.coverageFromMs()) ?? null)
    const coverage = await coverageOf(index)
    const rest = [
      `"next_cursor":${JSON.stringify(next)}`,
      `"coverage_from":${JSON.stringify(coverageFrom)}`,
      `"coverage":${JSON.stringify(coverage)}`,
      `"credits_used":${cost.charge({ row: page.rows.length })}`,
    ]
    return wrappedPage({
      rows: page.rows.map((row) => itemText(row, coin)),
      head: `{"address":${JSON.stringify(address)},"items":[`,
      tail: `],${rest.join(',')}}`,
      hasMore: page.hasMore,
      nextCursor: next,
      coverageComplete: coverage.complete,
    })
  },
})

async function coverageOf(index: ChainData['index']) {
  const fromMs = (await index.indexedFromMs()) ?? null
  const found = (await index.gaps())
    .filter(({ reason, toTimeMs }) => reason !== 'blocks_pruned' && toTimeMs >= (fromMs ?? 0))
    .slice(-MAX_GAPS)
  return {
    from: nodeTime(fromMs),
    to: nodeTime((await index.checkpoint())?.timeMs ?? null),
    complete: found.length === 0,
    gaps: found.map(({ fromTimeMs, toTimeMs, reason }) => ({
      from: nodeTime(fromTimeMs),
      to: nodeTime(toTimeMs),
      reason,
    })),
  }
}

function itemText(row: AddressRow, asset: string): string {
  const kind = row.status === 'confirmed' ? 'utxos_changed' : 'mempool_entry'
  const block = JSON.stringify(nodeTime(row.blockTimeMs))
  return `{"tx_id":"${row.txId}","direction":"${row.direction}","amount_sompi":${row.amount},"asset":"${asset}","status":"${row.status}","counterparty":${JSON.stringify(row.counterparty)},"block_time":${block},"event_kind":"${kind}"}`
}

function readCursor(place: readonly (string | number | null)[] | undefined): HistoryPlace {
  const [timeMs, rank] = place ?? []
  if (typeof timeMs === 'number' && typeof rank === 'number') return { timeMs, rank }
  throw otherCursor('this address')
}
