import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storesIn } from '../../test/fakes/stores.ts'
import { applyChain } from './apply-chain.ts'
import { EarlierAcceptance } from './earlier-acceptance.ts'
import { createIndexer } from './indexer.ts'
import type { PendingTransactions } from './pending-transactions.ts'

const hash = (digit: string) => digit.repeat(64)

test('a transaction in an unknown form is listed as accepted and recorded as a gap', async (t) => {
  const { chain, events, close } = storesIn(':memory:').chain('test')
  t.after(close)
  const troubles: string[] = []
  const indexer = await createIndexer({
    chain,
    events,
    network: 'testnet-10',
    now: () => 9_000,
    dropAfterMs: 60_000,
    onUnreadable: (detail) => troubles.push(detail),
  })
  await indexer.startAt({ hash: hash('0'), blueScore: 1, daaScore: 1, timeMs: 1_000 }, [])
  const answer = {
    removedChainBlockHashes: [],
    addedChainBlockHashes: [hash('1')],
    chainBlockAcceptedTransactions: [
      {
        chainBlockHeader: { hash: hash('1'), blueScore: 2, daaScore: 2, timestamp: 2_000 },
        acceptedTransactions: [
          {
            version: 99,
            inputs: 'of another kind',
            verboseData: { transactionId: hash('a'), blockHash: hash('1'), blockTime: 2_000 },
          },
        ],
      },
    ],
  }
  await indexer.applyChain(hash('0'), Buffer.from(JSON.stringify(answer)), false)
  assert.equal((await chain.checkpoint())?.hash, hash('1'))
  const { events: written } = await events.after({ afterSeq: 0, limit: 10 })
  const changed = written.find(({ kind }) => kind === 'virtual_chain_changed')
  const { data } = JSON.parse(changed?.text ?? '{}') as { data: { accepted: unknown } }
  assert.deepEqual(data.accepted, [{ accepting_block_hash: hash('1'), transaction_ids: [hash('a')] }])
  assert.deepEqual(await chain.gaps(), [
    {
      atMs: 9_000,
      fromHash: hash('1'),
      fromBlueScore: 2,
      fromTimeMs: 2_000,
      toHash: hash('1'),
      toTimeMs: 2_000,
      reason: 'unreadable',
      txIds: [hash('a')],
    },
  ])
  assert.equal(troubles.length, 1)
})

test('an answer to another question is refused, and nothing of it is written', async (t) => {
  const { chain, events, close } = storesIn(':memory:').chain('test')
  t.after(close)
  const indexer = await createIndexer({
    ...{ chain, events, network: 'testnet-10', now: () => 9_000, dropAfterMs: 60_000 },
  })
  const answer = (removed: string[], added: [hash: string, parent: string][]) =>
    Buffer.from(
      JSON.stringify({
        removedChainBlockHashes: removed,
        addedChainBlockHashes: added.map(([block]) => block),
        chainBlockAcceptedTransactions: added.map(([block, parent], index) => ({
          chainBlockHeader: {
            ...{ hash: block, blueScore: 2 + index, daaScore: 2 + index, timestamp: 2_000 },
            parentsByLevel: [[1, [hash('f'), parent]]],
          },
          acceptedTransactions: [],
        })),
      }),
    )
  const chainTo2 = answer(
    [],
    [
      [hash('1'), hash('0')],
      [hash('2'), hash('1')],
    ],
  )
  await indexer.startAt({ hash: hash('0'), blueScore: 1, daaScore: 1, timeMs: 1_000 }, [])
  await indexer.applyChain(hash('0'), chainTo2, false)
  const { newestSeq } = await events.bounds()

  // The node is behind; the number is where its chain ends.
  const behind = [
    [hash('0'), answer([], [[hash('1'), hash('0')]]), 2],
    [hash('0'), answer([], []), 1],
    [hash('2'), answer([hash('2')], []), 2],
    [hash('2'), answer([hash('2'), hash('1')], [[hash('3'), hash('0')]]), 2],
  ] as const
  for (const [from, bytes, score] of behind)
    assert.equal((await indexer.applyChain(from, bytes, false)).behindAt, score)
  const part = await indexer.applyChain(hash('0'), answer([], [[hash('1'), hash('0')]]), false, true)
  assert.deepEqual([part.behindAt, part.commonTo], [2, hash('1')], 'it may go on')

  await assert.rejects(indexer.applyChain(hash('2'), chainTo2, false), /does not follow/)
  const elsewhere = answer([hash('1')], [[hash('3'), hash('0')]])
  await assert.rejects(indexer.applyChain(hash('2'), elsewhere, true), /was asked from/)
  const otherBranch = answer([hash('2')], [[hash('4'), hash('9')]])
  await assert.rejects(indexer.applyChain(hash('2'), otherBranch, true), /does not follow/)
  const twoBlocks = answer(
    [],
    [
      [hash('3'), hash('2')],
      [hash('4'), hash('3')],
    ],
  )
  const changedPlaces = JSON.parse(twoBlocks.toString())
  changedPlaces.chainBlockAcceptedTransactions.reverse()
  for (const block of changedPlaces.chainBlockAcceptedTransactions)
    delete block.chainBlockHeader.parentsByLevel
  await assert.rejects(
    indexer.applyChain(hash('2'), Buffer.from(JSON.stringify(changedPlaces)), false),
    /in the place of block/,
  )
  assert.equal((await events.bounds()).newestSeq, newestSeq)

  const branch = answer(
    [hash('2')],
    [
      [hash('5'), hash('1')],
      [hash('6'), hash('5')],
    ],
  )
  await indexer.applyChain(hash('2'), branch, true)
  assert.equal((await chain.checkpoint())?.hash, hash('6'))

  // A branch that begins below the first followed block has a parent that the index does not know.
  const deep = answer(
    [hash('6'), hash('5'), hash('1'), hash('0')],
    [
      [hash('7'), hash('e')],
      [hash('8'), hash('7')],
    ],
  )
  await indexer.applyChain(hash('6'), deep, true)
  assert.equal((await chain.checkpoint())?.hash, hash('8'))
})

test('what blocks that left the chain accepted before the index began is no longer known as accepted', async (t) => {
  const { chain, events, close } = storesIn(':memory:').chain('test')
  t.after(close)
  const indexer = await createIndexer({
    ...{ chain, events, network: 'testnet-10', now: () => 9_000, dropAfterMs: 60_000 },
  })
  await indexer.startAt({ hash: hash('0'), blueScore: 1, daaScore: 1, timeMs: 1_000 }, [])
  const earlier = new EarlierAcceptance()
  const accepted = [{ acceptingBlockHash: hash('0'), acceptedTransactionIds: [hash('a')] }]
  earlier.take(Buffer.from(JSON.stringify({ acceptedTransactionIds: accepted })), {
    ...{ upTo: hash('0'), untilBlueScore: 400 },
  })
  assert.equal(earlier.has(hash('a')), true)
  const header = { hash: hash('1'), blueScore: 2, daaScore: 2, timestamp: 2_000 }
  const answer = {
    removedChainBlockHashes: [hash('0')],
    addedChainBlockHashes: [hash('1')],
    chainBlockAcceptedTransactions: [{ chainBlockHeader: header, acceptedTransactions: [] }],
  }
  const steps = applyChain({
    ...{ store: chain, network: 'testnet-10', now: () => 9_000, earlier, startHash: hash('0') },
    ...{ bytes: Buffer.from(JSON.stringify(answer)), force: true, isPart: false, onUnreadable: () => {} },
    pending: { rivalsOf: () => [] } as unknown as PendingTransactions,
  })
  for await (const step of steps) assert.ok('checkpoint' in step)
  assert.equal((await chain.checkpoint())?.hash, hash('1'))
  assert.equal(earlier.has(hash('a')), false)
})
