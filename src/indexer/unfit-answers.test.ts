/** Answers of a node that lack something, or contain what no node can mean. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { storesIn } from '../../test/fakes/stores.ts'
import { createIndexer } from './indexer.ts'
import { UnreadableAnswerError } from './read-chain.ts'

const hash = (digit: string) => digit.repeat(64)
const START = { hash: hash('0'), blueScore: 1, daaScore: 1, timeMs: 1_000 }
const VERBOSE = { transactionId: hash('a'), blockHash: hash('1'), blockTime: 2_000 }

const transaction = (verboseData: unknown) => ({
  ...{ version: 0, lockTime: 0, subnetworkId: '00'.repeat(20), gas: 0, payload: '', storageMass: 0, mass: 0 },
  inputs: [
    {
      ...{ previousOutpoint: { transactionId: hash('c'), index: 0 }, signatureScript: '', sequence: 0 },
      sigOpCount: 1,
    },
  ],
  outputs: [{ value: 5, scriptPublicKey: `000020${'7b'.repeat(32)}ac`, covenant: null }],
  verboseData,
})

async function startedIndexer(t: TestContext) {
  const { chain, events, close } = storesIn(':memory:').chain('test')
  t.after(close)
  const now = () => 9_000
  const indexer = await createIndexer({ chain, events, network: 'testnet-10', now, dropAfterMs: 60_000 })
  await indexer.startAt(START, [])
  return { chain, indexer }
}

const header = { hash: hash('1'), blueScore: 2, daaScore: 2, timestamp: 2_000 }
const chainAnswer = (verbose: unknown, more: object = {}, block: object = {}) => ({
  removedChainBlockHashes: [],
  addedChainBlockHashes: [hash('1')],
  chainBlockAcceptedTransactions: [
    { chainBlockHeader: header, acceptedTransactions: [transaction(verbose)], ...block },
  ],
  ...more,
})

const UNFIT_CHAINS: Record<string, unknown> = {
  'a transaction without a time': chainAnswer({ ...VERBOSE, blockTime: undefined }),
  'a transaction whose time is null': chainAnswer({ ...VERBOSE, blockTime: null }),
  'a transaction with a time that is no date': chainAnswer({ ...VERBOSE, blockTime: 9e15 }),
  'a transaction without an id': chainAnswer({ ...VERBOSE, transactionId: undefined }),
  'a transaction with another text as id': chainAnswer({ ...VERBOSE, transactionId: 'a"b' }),
  'a transaction without a block': chainAnswer({ ...VERBOSE, blockHash: undefined }),
  'a transaction without any facts': chainAnswer(null),
  'a block with a time that is no date': chainAnswer(
    VERBOSE,
    {},
    {
      chainBlockHeader: { ...header, timestamp: 9e15 },
    },
  ),
  'a block without a header': chainAnswer(VERBOSE, {}, { chainBlockHeader: null }),
  'a block without transactions': chainAnswer(VERBOSE, {}, { acceptedTransactions: undefined }),
  'no blocks': chainAnswer(VERBOSE, { chainBlockAcceptedTransactions: undefined }),
  'a block that is null': chainAnswer(VERBOSE, { chainBlockAcceptedTransactions: [null] }),
  'a hash that is a number': chainAnswer(VERBOSE, { addedChainBlockHashes: [1] }),
}

for (const [what, answer] of Object.entries(UNFIT_CHAINS)) {
  test(`a chain answer with ${what} changes nothing and is unreadable`, async (t) => {
    const { chain, indexer } = await startedIndexer(t)
    const bytes = Buffer.from(JSON.stringify(answer))
    await assert.rejects(indexer.applyChain(START.hash, bytes, false), UnreadableAnswerError)
    assert.deepEqual(await chain.checkpoint(), START)
  })
}

test('the same answer is applied if nothing is missing', async (t) => {
  const { chain, indexer } = await startedIndexer(t)
  await indexer.applyChain(START.hash, Buffer.from(JSON.stringify(chainAnswer(VERBOSE))), false)
  assert.equal((await chain.checkpoint())?.hash, hash('1'))
  assert.equal((await chain.transaction(hash('a')))?.status, 'confirmed')
})

const entry = (id: string, fee: unknown, verboseData: unknown = { transactionId: id }) => ({
  ...{ fee, is_orphan: false },
  transaction: transaction(verboseData),
})

const UNFIT_ENTRIES: Record<string, unknown> = {
  'without a fee': entry(hash('b'), undefined),
  'with a fraction as fee': entry(hash('b'), 1.5),
  'without its facts': entry(hash('b'), 1, null),
  'with another text as id': entry(hash('b'), 1, { transactionId: 'b' }),
  'without a transaction': { fee: 1, is_orphan: false },
  'that is null': null,
}

for (const [what, unfit] of Object.entries(UNFIT_ENTRIES)) {
  test(`an entry of the mempool ${what} does not hide the others`, async (t) => {
    const { chain, indexer } = await startedIndexer(t)
    const bytes = Buffer.from(JSON.stringify({ mempoolEntries: [unfit, entry(hash('a'), 7)] }))
    await indexer.applyMempool(bytes, 'a')
    assert.equal((await chain.transaction(hash('a')))?.status, 'pending')
  })
}
