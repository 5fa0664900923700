/** The simulated chain: reproducible, consistent after reorganisations, bounded, and its traffic is valid. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { Chain, type ChainEvent, ledgerRules } from './chain.ts'
import { type ChainOptions, chainOptions } from './chain-options.ts'
import { Ledger, type LedgerUpdate } from './consensus/ledger.ts'
import type { UtxoEntry } from './consensus/model.ts'
import { rewind } from './consensus/rewind.ts'
import { checkInContext, checkInIsolation } from './consensus/validate.ts'
import { chainPath, hashesBetween } from './consensus/walk.ts'
import { estimateFees } from './fee-estimate.ts'
import { openStateFolder } from './state-folder.ts'

const make = (given: Partial<ChainOptions> = {}) =>
  new Chain(
    chainOptions(
      { seed: 5, startTimeMs: 1_760_000_000_000, coinbaseMaturity: 60, warmUpBlocks: 0, ...given },
      0,
    ),
  )

const run = (chain: Chain, steps: number) => {
  for (let i = 0; i < steps; i++) chain.step()
}

const stateOf = (ledger: Ledger) =>
  [...ledger.utxos.entries()].map(([key, entry]) => `${key} ${entry.amount} ${entry.blockDaaScore}`).sort()

test('the same seed gives the same chain, another seed another', () => {
  const [a, b, c] = [make(), make(), make({ seed: 6 })]
  for (const chain of [a, b, c]) run(chain, 300)
  assert.equal(a.ledger.sink.header.hash, b.ledger.sink.header.hash)
  assert.notEqual(a.ledger.sink.header.hash, c.ledger.sink.header.hash)
})

test('every transaction that the chain accepts passes all checks, scripts included, and all kinds occur', () => {
  const chain = make({ transactionsPerSecond: 25, reorgsPerMinute: 20 })
  run(chain, 260)
  const { ledger } = chain
  const seen = {
    v0: 0,
    v1: 0,
    krc20Reveal: 0,
    krc20Payload: 0,
    genesis: 0,
    continuation: 0,
    burn: 0,
    framed: 0,
    lane: 0,
  }
  let checked = 0
  for (const hash of ledger.chain) {
    const record = ledger.record(hash)
    for (const { tx, spent } of record?.acceptance?.transactions ?? []) {
      if (tx.inputs.length === 0) continue
      const daaScore = record?.block.header.daaScore ?? 0n
      checkInIsolation(tx)
      const view = { daaScore, pastMedianTime: 0, coinbaseMaturity: 60 }
      const { fee } = checkInContext(tx, spent, view, { skipScripts: checked > 350 })
      assert.ok(fee >= BigInt(tx.computeMass) * 100n)
      checked += 1
      const spentIds = new Set(spent.flatMap((entry: UtxoEntry) => entry.covenantId ?? []))
      const madeIds = new Set(tx.outputs.flatMap((output) => output.covenant?.covenantId ?? []))
      const scripts = tx.inputs.map((input) => input.signatureScript)
      seen[tx.version === 0 ? 'v0' : 'v1'] += 1
      if (scripts.some((script) => script.includes('6b6173706c6578'))) seen.krc20Reveal += 1
      if (tx.payload.includes(Buffer.from('krc-20').toString('hex'))) seen.krc20Payload += 1
      if ([...madeIds].some((id) => !spentIds.has(id))) seen.genesis += 1
      if ([...madeIds].some((id) => spentIds.has(id))) seen.continuation += 1
      if ([...spentIds].some((id) => !madeIds.has(id))) seen.burn += 1
      if (scripts.some((script) => script.includes('6c76009c6375'))) seen.framed += 1
      if (tx.subnetworkId !== '00'.repeat(20)) seen.lane += 1
    }
  }
  assert.ok(checked > 300, `${checked} transactions`)
  for (const [kind, count] of Object.entries(seen))
    assert.ok(count > 0, `${kind} never occurred: ${JSON.stringify(seen)}`)
})

test('the selected chain is the heaviest, blocks run in parallel, some are red, tips are merged', () => {
  const chain = make({ lateRate: 0.02, parallelRate: 0.2 })
  run(chain, 600)
  const { ledger } = chain
  const records = [...ledger.records()]
  assert.ok(records.some((record) => record.parents.length > 1))
  assert.ok(records.some((record) => record.reds.length > 0))
  const best = records.reduce((a, b) => (b.block.header.blueWork > a.block.header.blueWork ? b : a))
  assert.equal(ledger.sink.header.blueWork, best.block.header.blueWork)
  for (const [i, hash] of ledger.chain.entries()) {
    if (i > 0) assert.equal(ledger.record(hash)?.selectedParent, ledger.chain[i - 1])
  }
  const merged = new Set(
    ledger.chain.flatMap((hash) => [
      ...(ledger.record(hash)?.blues ?? []),
      ...(ledger.record(hash)?.reds ?? []),
    ]),
  )
  const unmerged = records.filter(({ block }) => !merged.has(block.header.hash))
  assert.ok(unmerged.length <= 3, `${unmerged.length} blocks are not merged`)
})

test('a follower that applies the published changes of chain and outputs ends with the same state, through reorganisations', () => {
  const chain = make({
    reorgsPerMinute: 60,
    reorgDepth: 6,
    reorgDoubleSpendRate: 0.5,
    transactionsPerSecond: 15,
  })
  const follower = new Ledger(ledgerRules(chain.options), chain.ledger.snapshot())
  const outputs = new Map([...follower.utxos.entries()])
  const path: string[] = [...follower.chain]
  let reorganised = 0
  let redated = 0
  chain.on((event: ChainEvent) => {
    if (event.kind !== 'block') return
    const update = follower.apply(event.block) as LedgerUpdate
    for (const { key } of update.utxos.removed) assert.ok(outputs.delete(key), 'removed what was not there')
    for (const { key, entry } of update.utxos.added) outputs.set(key, entry)
    redated += update.utxos.added.filter(({ key }) =>
      update.utxos.removed.some((gone) => gone.key === key),
    ).length
    for (const hash of update.removedChain) assert.equal(path.pop(), hash)
    path.push(...update.addedChain)
    if (update.removedChain.length > 1) reorganised += 1
  })
  run(chain, 400)
  assert.ok(reorganised >= 3, `${reorganised} reorganisations`)
  assert.ok(redated > 0, 'an output was published again with another score')
  assert.deepEqual(path, [...chain.ledger.chain])
  assert.deepEqual(stateOf(follower), stateOf(chain.ledger))
  assert.deepEqual([...outputs.keys()].sort(), [...chain.ledger.utxos.entries()].map(([key]) => key).sort())
})

test('a deep reorganisation with a double spend takes an accepted payment back for good', () => {
  const chain = make({
    reorgsPerMinute: 0,
    parallelRate: 0,
    lateRate: 0,
    dwellBlocks: 0,
    mix: { ...chainOptions({}, 0).mix },
  })
  run(chain, 100)
  const acceptedNow = () =>
    new Set(
      chain.ledger.chain.flatMap(
        (hash) => chain.ledger.record(hash)?.acceptance?.transactions.map(({ tx }) => tx.id) ?? [],
      ),
    )
  const before = acceptedNow()
  const old = chain.ledger.sink.header.hash
  chain.reorganize(30, true)
  run(chain, 60)
  assert.equal(chain.ledger.isChainBlock(old), false)
  const after = acceptedNow()
  const coinbases = new Set([...chain.ledger.records()].map(({ block }) => block.transactions[0]?.id))
  const lost = [...before].filter((id) => !after.has(id) && !coinbases.has(id))
  assert.ok(lost.length >= 1, 'a payment is gone')
  const path = chainPath(chain.ledger, old)
  assert.equal(path?.removed.length, 30)
  assert.equal(path?.removed[0], old)
})

test('when blocks are small, better fees go first and the estimate rises', () => {
  const chain = make({
    blockMass: 8000,
    transactionsPerSecond: 60,
    dwellBlocks: 0,
    reorgsPerMinute: 0,
    parallelRate: 0,
  })
  run(chain, 80)
  const waiting = chain.mempool.entries({ pool: true, orphans: false })
  assert.ok(waiting.length > 50, `${waiting.length} wait`)
  const { priorityBucket } = estimateFees(chain.mempool.ready(), { blockMass: 8000, blocksPerSecond: 10 })
  assert.ok(priorityBucket.feerate > 105, `${priorityBucket.feerate}`)
  const rate = (fee: bigint, mass: bigint) => Number(fee) / Number(mass)
  assert.ok(
    waiting.every(({ fee, mass }) => rate(fee, mass) < 400),
    'those who paid most are in blocks',
  )
})

test('old blocks are pruned, the set of unspent outputs stays bounded, and pages cover every kept block once', () => {
  const chain = make({ keepBlocks: 300, transactionsPerSecond: 3 })
  run(chain, 1500)
  const { ledger } = chain
  assert.ok(ledger.blockCount <= 300 + 257, `${ledger.blockCount} blocks`)
  assert.ok(ledger.utxos.size < 1200, `${ledger.utxos.size} outputs`)
  assert.notEqual(ledger.pruningPoint, '00'.repeat(32))
  const got = new Set([ledger.pruningPoint])
  for (let low = ledger.pruningPoint; ; ) {
    const { hashes, reachedSink } = hashesBetween(ledger, low, 50)
    for (const hash of hashes) {
      assert.ok(!got.has(hash), 'a block came twice')
      got.add(hash)
    }
    low = hashes.at(-1) ?? low
    if (reachedSink) break
  }
  assert.ok(ledger.blockCount - got.size < 20, `${ledger.blockCount - got.size} blocks were not listed`)
})

test('what a kept chain block merges is kept with it', () => {
  const chain = make({ keepBlocks: 60, reorgsPerMinute: 60, parallelRate: 0.4 })
  for (let round = 0; round < 40; round++) {
    run(chain, 20)
    const { ledger } = chain
    const above = ledger.chain.slice(1).flatMap((hash) => ledger.record(hash) ?? [])
    const lost = above
      .flatMap(({ blues, reds }) => [...blues, ...reds])
      .filter((hash) => !ledger.record(hash))
    assert.deepEqual(lost, [], `round ${round}`)
  }
  assert.ok(chain.ledger.blockCount < 200, `${chain.ledger.blockCount} blocks`)
})

test('a ledger rewound and fed the later blocks again is the same', () => {
  const chain = make({ reorgsPerMinute: 30, transactionsPerSecond: 10 })
  run(chain, 300)
  const { ledger, later } = rewind(chain.ledger, chain.ledger.virtual.daaScore - 120n)
  assert.ok(later.length >= 119)
  assert.ok(ledger.virtual.daaScore <= chain.ledger.virtual.daaScore - 118n)
  for (const block of later) ledger.apply(block)
  assert.equal(ledger.sink.header.hash, chain.ledger.sink.header.hash)
  assert.deepEqual(stateOf(ledger), stateOf(chain.ledger))
})

test('a chain resumes from its folder, also after a crash that cut the journal', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-chain-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const options = chainOptions({ seed: 8, startTimeMs: 1_760_000_000_000, warmUpBlocks: 50 }, 0)
  const first = openStateFolder(folder, options)
  run(first.chain, 80)
  const hash = first.chain.ledger.sink.header.hash
  const state = stateOf(first.chain.ledger)
  first.close()
  const second = openStateFolder(folder, options)
  assert.equal(second.resumed, true)
  assert.equal(second.chain.ledger.sink.header.hash, hash)
  assert.deepEqual(stateOf(second.chain.ledger), state)
  run(second.chain, 100)
  const crashed = second.chain.ledger.sink.header.hash
  const third = openStateFolder(folder, options)
  assert.equal(third.chain.ledger.sink.header.hash, crashed, 'the journal was replayed')
  run(third.chain, 40)
  truncateSync(join(folder, 'chain.journal'), statSync(join(folder, 'chain.journal')).size - 10)
  const fourth = openStateFolder(folder, options)
  assert.ok(third.chain.ledger.record(fourth.chain.ledger.sink.header.hash), 'all but the cut block is there')
  assert.equal(openStateFolder(folder, { ...options, seed: 9 }).resumed, false)
})

test('a snapshot is compressed, and one that was written uncompressed is read, too', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-chain-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const options = chainOptions({ seed: 8, startTimeMs: 1_760_000_000_000, warmUpBlocks: 50 }, 0)
  const first = openStateFolder(folder, options)
  run(first.chain, 400)
  first.close()
  const file = join(folder, 'chain.snapshot')
  const compressed = readFileSync(file)
  const uncompressed = zstdDecompressSync(compressed)
  assert.ok(compressed.length < 0.6 * uncompressed.length, `${compressed.length} of ${uncompressed.length}`)
  writeFileSync(file, uncompressed)
  const second = openStateFolder(folder, options)
  assert.equal(second.resumed, true)
  assert.deepEqual(stateOf(second.chain.ledger), stateOf(first.chain.ledger))
})

test('a long run stays in its bounds', { skip: process.env.TAPELINE_SOAK ? false : 'long size only' }, () => {
  const chain = make({ keepBlocks: 3000, transactionsPerSecond: 5 })
  run(chain, 5000)
  const at = () => ({ heap: process.memoryUsage().heapUsed, outputs: chain.ledger.utxos.size })
  const early = at()
  run(chain, 45_000)
  const late = at()
  assert.ok(late.outputs < early.outputs * 1.5 + 500, `${early.outputs} → ${late.outputs} outputs`)
  assert.ok(late.heap < early.heap * 2 + 50e6, `${early.heap} → ${late.heap} bytes`)
})
