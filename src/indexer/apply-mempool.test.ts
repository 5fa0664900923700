import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allEvents } from '../../test/fakes/chain-rig.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { encodeAddress } from '../core/chain/address.ts'
import type { ChainStore } from '../store/chain.ts'
import { createIndexer } from './indexer.ts'

const id = (n: number) => n.toString(16).padStart(64, '0')
const bytes = (value: object) => Buffer.from(JSON.stringify(value))
const MEMPOOL = 'node#1'

/** Transaction n spends these outputs. In chain answers they are worth 1,000 each. */
function transaction(n: number, spends: readonly number[]) {
  const utxoEntry = { amount: 1_000, scriptPublicKey: '0000aa', blockDaaScore: 1, isCoinbase: false }
  return {
    version: 0,
    inputs: spends.map((spent) => ({
      previousOutpoint: { transactionId: id(spent), index: 0 },
      signatureScript: '',
      sequence: 0,
      sigOpCount: 1,
      verboseData: { utxoEntry },
    })),
    outputs: [{ value: 900, scriptPublicKey: `000020${id(n)}ac`, covenant: null }],
    lockTime: 0,
    subnetworkId: '00'.repeat(20),
    gas: 0,
    payload: '',
    mass: 0,
    verboseData: { transactionId: id(n), blockHash: id(7_777), blockTime: 5_000 },
  }
}

const coinbase = (n: number) => ({
  ...transaction(n, []),
  subnetworkId: `01${'00'.repeat(19)}`,
})

async function rig() {
  const stores = storesIn(':memory:').chain('test')
  let nowMs = 1_000
  let blocksWait = false
  let isAckLost = false
  const chain: ChainStore = {
    ...stores.chain,
    async write(batch) {
      const written = await stores.chain.write(batch)
      if (!isAckLost) return written
      isAckLost = false
      throw new Error('committed, but not acknowledged')
    },
  }
  const create = () =>
    createIndexer({ ...stores, chain, network: 'testnet-10', now: () => nowMs, dropAfterMs: 60_000 })
  let indexer = await create()
  await indexer.startAt({ hash: id(9_000), blueScore: 1, daaScore: 1, timeMs: 1 }, [])
  let tip = 9_000
  let parent = 9_000
  const header = (n: number) => ({
    hash: id(n),
    parentsByLevel: [[1, [id(n - 1)]]],
    daaScore: n,
    blueScore: n,
    timestamp: n,
  })
  return {
    ...stores,
    indexer,
    /** Another process on the same store. */
    restart: async () => {
      indexer = await create()
    },
    /** The nodes lose the chain up to this block. */
    lose: async () => {
      const gap = { fromHash: id(tip), fromBlueScore: tip, fromTimeMs: 1, toHash: id(20_000), toTimeMs: 2 }
      tip = 20_000
      const start = { hash: id(tip), blueScore: tip, daaScore: tip, timeMs: 2 }
      await indexer.startAt(start, [{ ...gap, atMs: nowMs, reason: 'pruned' }])
    },
    /** The next write is committed and reported as failed. */
    loseAck: () => {
      isAckLost = true
    },
    /** More blocks have been received than are recorded. */
    letBlocksWait: () => {
      blocksWait = true
    },
    pass: (ms: number) => {
      nowMs += ms
    },
    poll: (...found: (ReturnType<typeof transaction> & { isOrphan?: true })[]) => {
      const mempoolEntries = found.map(({ isOrphan = false, ...one }) => ({
        ...{ fee: isOrphan ? 0 : 7, transaction: one, is_orphan: isOrphan },
      }))
      return indexer.applyMempool(bytes({ mempoolEntries }), MEMPOOL)
    },
    pollBytes: (answer: Buffer) => indexer.applyMempool(answer, MEMPOOL),
    blockAdded: (n: number, ...carried: ReturnType<typeof transaction>[]) => {
      const transactions = [coinbase(n + 100_000), ...carried]
      const transactionIds = transactions.map((one) => one.verboseData.transactionId)
      const block = { header: header(n), transactions, verboseData: { transactionIds, isChainBlock: false } }
      const completeToMs = blocksWait ? {} : { completeToMs: nowMs }
      return indexer.applyNotifications({
        ...{ blocks: [bytes({ block })], daaScores: [], blueScores: [], ...completeToMs },
      })
    },
    /** Adds one chain block, or replaces the last one. */
    accept: async (
      options: { instead?: boolean; isPart?: boolean },
      ...accepted: ReturnType<typeof transaction>[]
    ) => {
      const removed = options.instead === true ? [id(tip)] : []
      const from = id(tip)
      if (options.instead !== true) parent = tip
      tip++
      const chainBlockHeader = { ...header(tip), parentsByLevel: [[1, [id(parent)]]] }
      await indexer.applyChain(
        from,
        bytes({
          removedChainBlockHashes: removed,
          addedChainBlockHashes: [id(tip)],
          chainBlockAcceptedTransactions: [{ chainBlockHeader, acceptedTransactions: accepted }],
        }),
        false,
        options.isPart,
      )
    },
    status: async (n: number) => {
      const row = await stores.chain.transaction(id(n))
      return row && [row.status, row.replacedBy]
    },
    told: async () =>
      (await allEvents(stores)).flatMap(({ kind, text }) => {
        const { tx_id, first_seen, hash } = (JSON.parse(text) as { data: Record<string, string> }).data
        if (kind === 'mempool_entry') return [`${Number.parseInt(tx_id ?? '', 16)} ${first_seen}`]
        if (kind === 'utxos_changed') return [`${Number.parseInt(tx_id ?? '', 16)} confirmed or retracted`]
        return kind === 'block_added' ? [`block ${Number.parseInt(hash ?? '', 16)}`] : []
      }),
  }
}

test('a replaced transaction is dropped by the poll that shows the other, and comes back when it is seen again', async (t) => {
  const { close, poll, pass, status, told } = await rig()
  t.after(close)
  await poll(transaction(1, [50, 51]), transaction(2, [52]))
  pass(200)
  await poll(transaction(3, [51]), transaction(2, [52]))
  assert.deepEqual(await status(1), ['dropped', id(3)])
  assert.deepEqual(await status(2), ['pending', null])
  pass(200)
  await poll(transaction(1, [50, 51]), transaction(2, [52]))
  assert.deepEqual(await status(1), ['pending', null])
  assert.deepEqual(await status(3), ['dropped', id(1)])
  assert.deepEqual(await told(), ['1 mempool', '2 mempool', '3 mempool'], 'each enters once')
})

test('a transaction that was just mined is not called replaced by an orphan that spends the same', async (t) => {
  const { close, poll, pass, status } = await rig()
  t.after(close)
  await poll(transaction(1, [50]))
  pass(200)
  await poll({ ...transaction(2, [50]), isOrphan: true })
  assert.deepEqual(await status(1), ['pending', null])
})

test('a transaction whose write was committed but failed for the writer is dropped like any other', async (t) => {
  const { close, accept, blockAdded, loseAck, pass, poll, status } = await rig()
  t.after(close)
  loseAck()
  await assert.rejects(blockAdded(9_500, transaction(1, [50])))
  await blockAdded(9_500, transaction(1, [50]))
  loseAck()
  await assert.rejects(poll(transaction(2, [51])))
  assert.deepEqual([await status(1), await status(2)], Array(2).fill(['pending', null]))
  pass(1_000)
  await accept({})
  for (let i = 0; i < 7; i++) {
    await poll()
    pass(9_000)
    await accept({})
  }
  await poll()
  assert.deepEqual([await status(1), await status(2)], Array(2).fill(['dropped', null]))
})

test('an orphan has paid nobody until it is in the pool proper, also after a restart', async (t) => {
  const { chain, close, poll, pass, accept, restart, told, status } = await rig()
  t.after(close)
  const paid = async (n: number) => {
    const address = encodeAddress({ prefix: 'kaspatest', version: 0, payload: Buffer.from(id(n), 'hex') })
    const { rows } = await chain.addressPage({ address, limit: 10 })
    return [rows.map((row) => row.amount), (await chain.transaction(id(n)))?.fee]
  }
  const orphan = (n: number) => ({ ...transaction(n, [n + 50]), isOrphan: true as const })
  for (let i = 0; i < 2; i++) {
    await poll(orphan(1), orphan(2))
    pass(200)
  }
  assert.deepEqual(
    [await status(1), await paid(1)],
    [
      ['pending', null],
      [[], null],
    ],
  )
  await accept({}, transaction(51, [151]))
  await poll(transaction(1, [51]), orphan(2))
  assert.deepEqual(
    [await paid(1), await paid(2)],
    [
      [[900n], 7n],
      [[], null],
    ],
  )
  await restart()
  pass(200)
  await poll(transaction(1, [51]), orphan(2))
  pass(200)
  await accept({}, transaction(52, [152]))
  await poll(transaction(1, [51]), transaction(2, [52]))
  assert.deepEqual(
    [await paid(1), await paid(2)],
    [
      [[900n], 7n],
      [[900n], 7n],
    ],
  )
  const inMempool = (await told()).filter((line) => line.endsWith('mempool'))
  assert.deepEqual(inMempool, ['1 mempool', '2 mempool'])
})

test('a pending payment of an output older than the index has no rows: its change would look like a gain', async (t) => {
  const { chain, close, poll, blockAdded, accept, told } = await rig()
  t.after(close)
  const script = (n: number) => `000020${id(n)}ac`
  const row = async (n: number) => {
    const address = encodeAddress({ prefix: 'kaspatest', version: 0, payload: Buffer.from(id(n), 'hex') })
    const { rows } = await chain.addressPage({ address, limit: 10 })
    return rows.map(({ status, direction, amount }) => [status, direction, amount])
  }
  /** Pays 300 of the sender's 1,000 and returns 600 to the sender. */
  const payment = (n: number, { sender, receiver }: { sender: number; receiver: number }) => {
    const utxoEntry = { amount: 1_000, scriptPublicKey: script(sender), blockDaaScore: 1, isCoinbase: false }
    const one = transaction(n, [n + 50])
    return {
      ...one,
      inputs: one.inputs.map((input) => ({ ...input, verboseData: { utxoEntry } })),
      outputs: [
        { value: 300, scriptPublicKey: script(receiver), covenant: null },
        { value: 600, scriptPublicKey: script(sender), covenant: null },
      ],
    }
  }
  const [seen, mined] = [payment(1, { sender: 30, receiver: 31 }), payment(2, { sender: 32, receiver: 33 })]
  await poll(seen)
  await blockAdded(9_500, mined)
  for (const n of [30, 31, 32, 33]) assert.deepEqual(await row(n), [])
  assert.deepEqual(await told(), ['1 mempool', '2 block', 'block 9500'])
  await accept({}, seen, mined)
  for (const n of [30, 32]) assert.deepEqual(await row(n), [['confirmed', 'send', 400n]])
  for (const n of [31, 33]) assert.deepEqual(await row(n), [['confirmed', 'receive', 300n]])
  const next = {
    ...transaction(3, [1]),
    outputs: [{ value: 290, scriptPublicKey: script(31), covenant: null }],
  }
  await poll(next)
  assert.deepEqual(await row(31), [
    ['pending', 'self', 10n],
    ['confirmed', 'receive', 300n],
  ])
})

test('an answer without a list of entries is not an empty mempool: nothing is dropped', async (t) => {
  const { close, poll, pollBytes, pass, blockAdded, status } = await rig()
  t.after(close)
  await poll(transaction(1, [50]))
  for (const unfit of [{}, { mempoolEntries: null }, { entries: [] }]) {
    for (let n = 0; n < 10; n++) {
      pass(500)
      await blockAdded(9_500 + n)
      await assert.rejects(pollBytes(bytes(unfit)), /mempoolEntries is missing/)
    }
    assert.deepEqual(await status(1), ['pending', null])
  }
})

test('an evicted transaction is dropped within five seconds, one that left for a block is not', async (t) => {
  const { close, poll, pass, blockAdded, status } = await rig()
  t.after(close)
  await poll(transaction(1, [50]), transaction(2, [51]))
  await blockAdded(100, transaction(2, [51]))
  for (let ms = 0; ms < 4_500; ms += 500) {
    pass(500)
    await blockAdded(101 + ms)
    await poll()
  }
  assert.deepEqual(await status(1), ['dropped', null])
  assert.deepEqual(await status(2), ['pending', null])
})

test('while blocks wait to be recorded, one that left the mempool may be in one of them', async (t) => {
  const { close, poll, pass, blockAdded, letBlocksWait, status } = await rig()
  t.after(close)
  await poll(transaction(1, [50]))
  letBlocksWait()
  for (let ms = 0; ms < 4_500; ms += 500) {
    pass(500)
    await blockAdded(101 + ms)
    await poll()
  }
  assert.deepEqual(await status(1), ['pending', null])
})

test('what an accepted transaction spends is lost to the others, also to one whose block has left the chain', async (t) => {
  const { close, poll, accept, status } = await rig()
  t.after(close)
  await poll(transaction(1, [50]))
  await accept({}, transaction(2, [50]))
  assert.deepEqual(await status(1), ['dropped', id(2)])
  await accept({ instead: true }, transaction(3, [50]))
  assert.deepEqual(await status(2), ['dropped', id(3)])
  await accept({ instead: true }, transaction(1, [50]))
  assert.deepEqual(await status(1), ['confirmed', null])
  assert.deepEqual(await status(3), ['dropped', id(1)])
})

test('one that a block or the chain shows first enters there, before the events of the block', async (t) => {
  const { close, poll, blockAdded, accept, told } = await rig()
  t.after(close)
  await poll(transaction(1, [50]))
  await blockAdded(100, transaction(1, [50]), transaction(2, [51]), transaction(3, [2]))
  await accept({}, coinbase(900), transaction(2, [51]), transaction(4, [52]))
  await blockAdded(101, transaction(4, [52]), transaction(2, [51]))
  await poll(transaction(3, [2]), transaction(4, [52]))
  assert.deepEqual(await told(), [
    '1 mempool',
    '2 block',
    '3 block',
    'block 100',
    '4 block',
    '900 confirmed or retracted',
    '2 confirmed or retracted',
    '4 confirmed or retracted',
    'block 101',
  ])
})

test('nothing is dropped until the chain has been at its end, at a start and after it could not be followed', async (t) => {
  const { close, poll, pass, accept, restart, status } = await rig()
  t.after(close)
  await poll(transaction(1, [50]), transaction(2, [51]))
  for (const wait of [() => restart(), async () => {}]) {
    await wait()
    pass(70_000)
    await poll()
    assert.deepEqual(await status(1), ['pending', null], 'it may be accepted by what is not read yet')
    for (let ms = 0; ms < 70_000; ms += 5_000) {
      pass(5_000)
      await accept({ isPart: true })
    }
    await poll()
    assert.deepEqual(await status(1), ['pending', null], 'a part of the chain is not its end')
    await accept({})
    pass(5_000)
    await poll()
    assert.deepEqual(await status(1), ['pending', null], 'the wait begins with the end of the chain')
  }
  await accept({}, transaction(1, [50]))
  for (let ms = 0; ms < 61_000; ms += 1_000) {
    pass(1_000)
    await accept({})
  }
  await poll()
  assert.deepEqual(
    [await status(1), await status(2)],
    [
      ['confirmed', null],
      ['dropped', null],
    ],
  )
})

test('what was pending when part of the chain was lost is not called dropped, unless it is seen again', async (t) => {
  const { close, poll, pass, accept, lose, restart, status } = await rig()
  t.after(close)
  await poll(transaction(1, [50]), transaction(2, [51]))
  pass(1_000)
  await lose()
  const wait = async () => {
    for (let ms = 0; ms < 62_000; ms += 1_000) {
      pass(1_000)
      await accept({})
    }
    await poll()
  }
  await accept({})
  await poll(transaction(2, [51]))
  await wait()
  assert.deepEqual(
    [await status(1), await status(2)],
    [
      ['pending', null],
      ['dropped', null],
    ],
  )
  await restart()
  await wait()
  assert.deepEqual(await status(1), ['pending', null])
})

test('more known transactions than one write takes do not keep new ones out', async (t) => {
  const { close, poll, accept, status } = await rig()
  t.after(close)
  const known = Array.from({ length: 2_100 }, (_, n) => transaction(n + 1, [n + 10_000]))
  await accept({}, ...known)
  await poll(...known, transaction(5_000, [50]))
  assert.deepEqual(await status(5_000), ['pending', null])
})

test('an answer that the node cut at its merged blocks is not the end of the chain, however few chain blocks it has', async (t) => {
  const { indexer, close, poll, pass, status } = await rig()
  t.after(close)
  await poll(transaction(1, [50]))
  // The nodes were away for hours, and the index catches up. Each chain block merges 27 blocks.
  pass(10 * 3_600_000)
  let from = 9_000
  for (let round = 0; round < 90; round++) {
    const added = Array.from({ length: 90 }, (_, n) => from + 1 + n)
    const blocks = added.map((n) => {
      const score = { daaScore: n * 27, blueScore: n * 27, timestamp: n }
      return {
        chainBlockHeader: { hash: id(n), parentsByLevel: [[1, [id(n - 1)]]], ...score },
        acceptedTransactions: [],
      }
    })
    const added90 = { removedChainBlockHashes: [], addedChainBlockHashes: added.map(id) }
    const applied = await indexer.applyChain(
      id(from),
      bytes({ ...added90, chainBlockAcceptedTransactions: blocks }),
      false,
    )
    assert.ok(applied.goesOn)
    from += 90
    pass(1_000)
    await poll()
  }
  assert.deepEqual(await status(1), ['pending', null])
})
