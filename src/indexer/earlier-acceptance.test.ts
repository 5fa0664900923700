import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSandboxNode } from '../../sandbox/node/run.ts'
import { plainClient } from '../../test/fakes/plain-node-client.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { systemClock } from '../kit/clock.ts'
import { type ExactJson, writeExact } from '../kit/exact-json.ts'
import { createChainQueries } from '../relay/chain-queries.ts'
import type { ChainStores } from '../store/chain.ts'
import { createUpstreams } from '../upstreams/pool.ts'
import { startFirst, startYoung } from './checkpoint.ts'
import { EARLIER_DEPTH, EarlierAcceptance } from './earlier-acceptance.ts'
import { createIndexer } from './indexer.ts'

const NETWORK = 'testnet-10'

const indexerOn = (database: ChainStores) =>
  createIndexer({ ...database, network: NETWORK, now: () => systemClock.now(), dropAfterMs: 60_000 })

const notified = (...blocks: unknown[]) => ({
  blocks: blocks.map((block) => Buffer.from(writeExact({ block } as ExactJson))),
  daaScores: [],
  blueScores: [],
})

test('another copy of a transaction that was accepted before the index began is not pending', async (t) => {
  const node = await startSandboxNode({
    ...{ paced: false, seed: 5, warmUpBlocks: 60, coinbaseMaturity: 10, reorgsPerMinute: 0 },
    transactionsPerSecond: 20,
  })
  t.after(() => node.close())
  const upstreams = createUpstreams({
    network: NETWORK,
    nodes: [{ name: 'node', url: node.url, tier: 'primary' }],
    clock: systemClock,
    random: Math.random,
  })
  t.after(() => upstreams.close())
  await upstreams.ready(10_000)
  const rpc = await plainClient(node.url)
  t.after(() => rpc.close())
  const queries = createChainQueries(upstreams, systemClock, new AbortController().signal)

  // A block that is merged later carries a copy of the last payments.
  const accepting = node.truth.chain().findLast(({ accepted }) => accepted.length > 3)
  const payment = accepting?.accepted.at(-1)
  assert.ok(payment)
  const { block } = (await rpc.call('getBlock', { hash: payment.blockHash, includeTransactions: true })) as {
    block: { header: object; transactions: unknown[]; verboseData: object }
  }
  const late = { ...block, header: { ...block.header, hash: 'd'.repeat(64) } }

  const database = storesIn(':memory:').chain('test')
  t.after(() => database.close())
  const first = await indexerOn(database)
  const start = await startFirst(first, queries, undefined)
  assert.equal(start?.hash, node.truth.sink())
  await first.applyNotifications(notified(late))
  assert.deepEqual(await database.chain.pending(10), [])
  assert.equal(await database.chain.transaction(payment.transactionId), undefined)
  const { events } = await database.events.after({ afterSeq: 0, limit: 10 })
  assert.deepEqual(
    events.map(({ kind }) => kind),
    ['block_added'],
  )

  // After a restart while it is young, the index learns it again.
  const again = await indexerOn(database)
  await startYoung(again, queries, undefined)
  await again.applyNotifications(notified({ ...late, header: { ...block.header, hash: 'e'.repeat(64) } }))
  assert.deepEqual(await database.chain.pending(10), [])

  // Without that knowledge the payment is taken for pending.
  const unknowing = await indexerOn(database)
  await unknowing.applyNotifications(notified({ ...late, header: { ...block.header, hash: 'f'.repeat(64) } }))
  assert.ok((await database.chain.pending(10)).includes(payment.transactionId))
})

test('what left the chain is not known as accepted, and all is forgotten when no copy can come any more', () => {
  const hash = (digit: string) => digit.repeat(64)
  const answer = Buffer.from(
    JSON.stringify({
      acceptedTransactionIds: [
        { acceptingBlockHash: hash('1'), acceptedTransactionIds: [hash('a')] },
        { acceptingBlockHash: hash('2'), acceptedTransactionIds: [hash('b'), hash('c')] },
        { acceptingBlockHash: hash('3'), acceptedTransactionIds: [hash('d')] },
      ],
    }),
  )
  const earlier = new EarlierAcceptance()
  const known = () => ['a', 'b', 'c', 'd'].filter((txId) => earlier.has(hash(txId))).join('')
  const untilBlueScore = EARLIER_DEPTH
  assert.equal(earlier.take(answer, { upTo: hash('9'), untilBlueScore }), undefined)
  assert.equal(known(), '')
  assert.equal(earlier.take(answer, { upTo: undefined, untilBlueScore }), hash('3'))
  assert.equal(known(), 'abcd')
  assert.equal(earlier.take(answer, { upTo: hash('2'), untilBlueScore }), hash('2'))
  assert.equal(known(), 'abc')
  earlier.undo([hash('3'), hash('2')])
  assert.equal(known(), 'a')
  earlier.seenTo({ hash: '4', blueScore: untilBlueScore - 1 })
  assert.equal(known(), 'a')
  earlier.seenTo({ hash: '5', blueScore: untilBlueScore })
  assert.equal(known(), '')
})
