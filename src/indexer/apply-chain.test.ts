import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storesIn } from '../../test/fakes/stores.ts'
import { createIndexer } from './indexer.ts'

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
  await indexer.startAt({ hash: hash('0'), blueScore: 1, daaScore: 1, timeMs: 1_000 }, undefined)
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
