import { Type } from 'typebox'
import { base } from '../../../contract/costs.ts'
import { object, type TextAnswer } from '../../../contract/endpoint.ts'
import { CONTENT_TYPES } from '../../../contract/envelopes.ts'
import { readTransaction } from '../../../core/chain/transaction-json.ts'
import { ApiError } from '../../../core/errors.ts'
import {
  integerField,
  nullableIntegerField,
  nullableTextField,
  textField,
} from '../../../core/rows/fields.ts'
import { type ExactJson, writeExact } from '../../../kit/exact-json.ts'
import { parseTransaction } from '../../../parser/parse-transaction.ts'
import type { TransactionRow } from '../../../store/chain.ts'
import { endpoint } from '../services.ts'
import type { ChainData } from './chain-data.ts'
import { txIdParam } from './chain-params.ts'
import { nodeTime } from './node-time.ts'
import { ParsedTransactionSchema } from './parsed-schema.ts'
import { unusableAnswer, upstreamError } from './upstream-error.ts'

const TransactionLookup = Type.Object({
  tx_id: textField('Transaction id.'),
  status: textField('pending, confirmed or dropped.'),
  parsed: ParsedTransactionSchema,
  source: textField('index or mempool.'),
  block_time: nullableTextField('Time of the block that carries it; null while pending.'),
  block_hash: nullableTextField('That block; null while pending.'),
  accepting_block_hash: nullableTextField('Chain block that accepted it; null while pending.'),
  accepting_block_time: nullableTextField('Time of that block.'),
  confirmations: integerField('Blue score since acceptance; 0 while pending.'),
  replaced_by: nullableTextField(
    'Of a dropped transaction: the one that spends the same output, where it is known.',
  ),
  fee_sompi: nullableIntegerField('Fee, where all inputs are known.'),
  credits_used: integerField('Credits that this answer cost.'),
})

const MEMPOOL = 'mempool lookup'
const cost = base(10).per(MEMPOOL, 5)

export const transactionEndpoint = endpoint({
  path: 'GET /v1/transactions/{tx_id}',
  doc: {
    tag: 'node',
    summary: 'One transaction, parsed',
    description:
      'From the index; where it is not there, from the mempool of a node, for 5 credits more. A confirmed transaction becomes pending again when its accepting block leaves the chain, and dropped when it leaves the mempool without being accepted.',
  },
  access: { scope: 'node', tier: 'pro', feature: 'transactions' },
  params: { tx_id: txIdParam },
  cost,
  returns: object('TransactionLookup', TransactionLookup),
  errors: ['transaction_not_found', 'upstream_error', 'upstream_unavailable', 'upstream_timeout'],
  run: async ({ input, services, dryRun }) => {
    const { chain } = services
    const row = await chain.index.transaction(input.tx_id)
    const units = row === undefined ? { [MEMPOOL]: 1 } : {}
    if (dryRun) return { kind: 'object', value: {}, units }
    const members = await (row === undefined ? inMempool(input.tx_id, chain) : indexed(row, chain))
    return answer(
      { tx_id: JSON.stringify(input.tx_id), ...members, credits_used: String(cost.charge(units)) },
      units,
    )
  },
})

/** One small entry: no node takes longer. */
const MAX_LOOKUP_MS = 10_000

/** Members are JSON texts: amounts above 2^53 keep their digits. */
type Members = Record<string, string>

async function indexed(row: TransactionRow, { index }: ChainData): Promise<Members> {
  const checkpoint = await index.checkpoint()
  const depth =
    row.acceptingBlueScore === null ? 0 : Math.max(0, (checkpoint?.blueScore ?? 0) - row.acceptingBlueScore)
  return {
    status: `"${row.status}"`,
    parsed: row.parsed,
    source: '"index"',
    block_time: JSON.stringify(nodeTime(row.blockTimeMs)),
    block_hash: JSON.stringify(row.blockHash),
    accepting_block_hash: JSON.stringify(row.acceptingBlockHash),
    accepting_block_time: JSON.stringify(nodeTime(row.acceptingBlockTimeMs)),
    confirmations: String(depth),
    replaced_by: JSON.stringify(row.replacedBy),
    fee_sompi: String(row.fee),
  }
}

/** In the order of submissions: one that was just submitted is in no other mempool yet. */
async function inMempool(txId: string, { upstreams, waitMs }: ChainData): Promise<Members> {
  const params = { transactionId: txId, includeOrphanPool: true, filterTransactionPool: false }
  const deadlineMs = Math.min(waitMs, MAX_LOOKUP_MS)
  const outcome = await upstreams.call('getMempoolEntry', params, { deadlineMs, asConfigured: true })
  if (!outcome.ok) {
    const { failure } = outcome
    if (failure.kind === 'refused' && failure.refusal.reason === 'transaction_not_found') throw notFound(txId)
    throw upstreamError(failure)
  }
  const { mempoolEntry } = outcome.value as {
    mempoolEntry?: { fee: number | bigint; is_orphan?: boolean; transaction: ExactJson }
  }
  const read = mempoolEntry && readTransaction(mempoolEntry.transaction)
  if (!mempoolEntry || !read?.ok) throw unusableAnswer(outcome.node, 'transaction')
  const parsed = parseTransaction(read.transaction, { network: upstreams.network, txId })
  return {
    status: '"pending"',
    parsed: writeExact(parsed as unknown as ExactJson),
    source: '"mempool"',
    block_time: 'null',
    block_hash: 'null',
    accepting_block_hash: 'null',
    accepting_block_time: 'null',
    confirmations: '0',
    replaced_by: 'null',
    // The node does not know an orphan's fee.
    fee_sompi: mempoolEntry.is_orphan === true ? 'null' : String(mempoolEntry.fee),
  }
}

function notFound(txId: string): ApiError {
  return new ApiError(
    'transaction_not_found',
    `Transaction ${txId} is neither in the index nor in a mempool. The index knows what was accepted since it was started.`,
  )
}

function answer(members: Members, units: Record<string, number>): TextAnswer {
  const text = Object.entries(members).map(([name, value]) => `"${name}":${value}`)
  return { kind: 'text', text: `{${text.join(',')}}`, contentType: CONTENT_TYPES.json, units }
}
