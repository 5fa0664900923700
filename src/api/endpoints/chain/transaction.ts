import { Type } from 'typebox'
import { base } from '../../../contract/costs.ts'
import { object, type TextAnswer } from '../../../contract/endpoint.ts'
import { CONTENT_TYPES } from '../../../contract/envelopes.ts'
import { scoreOf } from '../../../core/chain/score.ts'
import { ApiError } from '../../../core/errors.ts'
import {
  integerField,
  nullableIntegerField,
  nullableTextField,
  nullableTimeField,
  textField,
} from '../../../core/rows/fields.ts'
import { elapsedMs } from '../../../kit/clock.ts'
import { type ExactJson, writeExact } from '../../../kit/exact-json.ts'
import { nextTurn } from '../../../kit/time-slices.ts'
import { parseTransaction } from '../../../parser/parse-transaction.ts'
import type { TransactionRow } from '../../../store/chain.ts'
import type { CallOptions } from '../../../upstreams/call-outcome.ts'
import { endpoint } from '../services.ts'
import type { ChainData } from './chain-data.ts'
import { txIdParam } from './chain-params.ts'
import { knownSpent } from './known-spent.ts'
import { readMempoolEntry } from './mempool-entry.ts'
import { nodeTime } from './node-time.ts'
import { ParsedTransactionSchema } from './parsed-schema.ts'
import { notNow, unusableAnswer, upstreamError } from './upstream-error.ts'

const TransactionLookup = Type.Object({
  tx_id: textField('Transaction id.'),
  status: textField('pending, confirmed or dropped.'),
  parsed: ParsedTransactionSchema,
  source: textField('index or mempool.'),
  block_time: nullableTimeField('Time of the block that carries it; null while pending.'),
  block_hash: nullableTextField('That block; null while pending.'),
  accepting_block_hash: nullableTextField('Chain block that accepted it; null while pending.'),
  accepting_block_time: nullableTimeField('Time of that block.'),
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
      'From the index; where it is not there, from the mempool of a node, for 5 credits more. A confirmed transaction becomes pending again when its accepting block leaves the chain, and dropped when it leaves the mempool without being accepted. What is in no mempool is unknown (404) once the index has caught up with the node that was asked; while it is more than a few seconds behind that node, that is 503 with the reason `index_behind`.',
  },
  access: { scope: 'node', tier: 'pro', feature: 'transactions' },
  params: { tx_id: txIdParam },
  cost,
  returns: object('TransactionLookup', TransactionLookup),
  errors: ['transaction_not_found', 'upstream_error', 'upstream_unavailable', 'upstream_timeout'],
  run: async ({ input, services, dryRun, isGone }) => {
    const { chain } = services
    const row = await chain.index.transaction(input.tx_id)
    if (dryRun) return { kind: 'object', value: {}, units: row === undefined ? { [MEMPOOL]: 1 } : {} }
    const { members, units } =
      row === undefined
        ? await unindexed(input.tx_id, chain, isGone)
        : { members: await indexed(row, chain), units: {} }
    return answer(
      { tx_id: JSON.stringify(input.tx_id), ...members, credits_used: String(cost.charge(units)) },
      units,
    )
  },
})

/** Enough for one small entry on any node. */
const MAX_LOOKUP_MS = 10_000
/**
 * Callers do not wait for an index that is further behind. At ten blocks per second, 50 DAA scores are five seconds.
 */
const MAX_INDEX_WAIT_MS = 5_000
const MAX_DAA_BEHIND = 50
/** The DAA score of a node's last probe may be behind the index by this much. */
const PROBE_AGE_DAA = 20
const LOOK_MS = 50

/** Members are JSON texts, so that amounts above 2^53 keep their digits. */
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

/**
 * Looks in the mempool and once more in the index, because the transaction may have left the mempool for a block that
 * the index is about to receive.
 */
export async function unindexed(
  txId: string,
  chain: ChainData,
  isGone: () => boolean = () => false,
): Promise<{ members: Members; units: Record<string, number> }> {
  let pending = await inMempool(txId, chain, { asConfigured: true })
  let row = pending.members === undefined ? await chain.index.transaction(txId) : undefined
  if (pending.members === undefined && row === undefined) {
    const node = await followedNode(chain, pending.node)
    if (node === undefined) throw indexBehind()
    // A transaction that the first node has accepted and the index's node has not is in the mempool of the latter, or
    // has not reached it yet.
    const isAnother = node !== pending.node
    if (isAnother) pending = await inMempool(txId, chain, { stayOn: node })
    if (pending.members === undefined) row = await caughtUp(txId, chain, { node: pending.node, isGone })
    if (isAnother && pending.members === undefined && row === undefined) throw indexBehind()
  }
  if (pending.members !== undefined) return { members: pending.members, units: { [MEMPOOL]: 1 } }
  if (row === undefined) throw notFound(txId)
  return { members: await indexed(row, chain), units: {} }
}

/**
 * A node that is about as far as the index: the one that was asked or, if that one is further ahead, the one that the
 * index must be following. Undefined while the index is catching up with all of them.
 */
async function followedNode({ index, upstreams }: ChainData, asked: string): Promise<string | undefined> {
  const indexedDaa = (await index.checkpoint())?.daaScore
  const nodes = upstreams.nodes()
  const askedDaa = nodes.find(({ name }) => name === asked)?.daaScore ?? undefined
  if (indexedDaa === undefined || askedDaa === undefined || askedDaa - indexedDaa <= MAX_DAA_BEHIND)
    return asked
  const near = nodes.flatMap(({ name, state, daaScore }) => {
    const ahead = (daaScore ?? 0) - indexedDaa
    const isNear = ahead >= -PROBE_AGE_DAA && ahead <= MAX_DAA_BEHIND
    return state === 'healthy' && isNear ? [{ name, ahead }] : []
  })
  return near.toSorted((a, b) => Math.abs(a.ahead) - Math.abs(b.ahead))[0]?.name
}

/** Waits until the index has reached the node's current position, and then reads the transaction. */
async function caughtUp(
  txId: string,
  { index, upstreams, clock, waitMs }: ChainData,
  { node, isGone }: { node: string; isGone: () => boolean },
): Promise<TransactionRow | undefined> {
  const options = { deadlineMs: Math.min(waitMs, MAX_LOOKUP_MS), stayOn: node, isAbandoned: isGone }
  const sink = await upstreams.call('getSinkBlueScore', {}, options)
  if (!sink.ok) throw upstreamError(sink.failure)
  const score = scoreOf((sink.value as { blueScore?: unknown }).blueScore)
  // Without a score to wait for, any index would count as caught up.
  if (score === undefined) throw unusableAnswer(sink.node, 'blue score')
  const startedMs = elapsedMs(clock)
  while (((await index.checkpoint())?.blueScore ?? 0) < score) {
    if (isGone() || elapsedMs(clock) - startedMs > MAX_INDEX_WAIT_MS) throw indexBehind()
    await clock.sleep(LOOK_MS)
  }
  return index.transaction(txId)
}

/** The first lookup goes to the node that takes submissions, because a new transaction is in no other mempool yet. */
async function inMempool(
  txId: string,
  { upstreams, index, waitMs }: ChainData,
  order: Pick<CallOptions, 'asConfigured' | 'stayOn'>,
): Promise<{ node: string; members?: Members }> {
  const params = { transactionId: txId, includeOrphanPool: true, filterTransactionPool: false }
  const deadlineMs = Math.min(waitMs, MAX_LOOKUP_MS)
  const outcome = await upstreams.call('getMempoolEntry', params, { deadlineMs, ...order })
  if (!outcome.ok) {
    const { failure } = outcome
    if (failure.kind === 'refused' && failure.refusal.reason === 'transaction_not_found')
      return { node: failure.node }
    throw upstreamError(failure)
  }
  const entry = await readMempoolEntry(outcome.value, txId)
  if (entry === undefined) throw unusableAnswer(outcome.node, 'transaction')
  const { transaction } = entry
  const spent = await knownSpent(transaction, index)
  const parsed = parseTransaction(transaction, { network: upstreams.network, txId, spent })
  await nextTurn()
  const members = {
    status: '"pending"',
    parsed: writeExact(parsed as unknown as ExactJson),
    source: '"mempool"',
    block_time: 'null',
    block_hash: 'null',
    accepting_block_hash: 'null',
    accepting_block_time: 'null',
    confirmations: '0',
    replaced_by: 'null',
    fee_sompi: String(entry.fee),
  }
  return { node: outcome.node, members }
}

function indexBehind(): ApiError {
  return notNow('index_behind', 'It is in no mempool, and the index has not caught up with the nodes.')
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
