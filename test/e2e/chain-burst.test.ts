/** A burst of some thousand transactions: the indexing thread handles it, and the API's event loop stays responsive. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startSandboxNode } from '../../sandbox/node/run.ts'
import { startIndexWorker } from '../../src/app/index-worker.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { parseStoreAddress } from '../../src/store/open-stores.ts'
import { createUpstreams } from '../../src/upstreams/pool.ts'

const spentMs = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1_000

test('reading, parsing and writing a burst keeps the main thread idle', async (t) => {
  const node = await startSandboxNode({
    paced: false,
    seed: 3,
    transactionsPerSecond: 120,
    warmUpBlocks: 60,
    coinbaseMaturity: 10,
    reorgsPerMinute: 0,
  })
  const network = 'testnet-10'
  const upstreams = createUpstreams({
    network,
    nodes: [{ name: 'node', url: node.url, tier: 'primary' }],
    clock: systemClock,
    random: Math.random,
  })
  await upstreams.ready(60_000)
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-burst-'))
  const worker = startIndexWorker({
    address: parseStoreAddress(folder),
    environment: 'test',
    network,
    dropAfterMs: 60_000,
    onUnreadable: (detail) => assert.fail(detail),
  })
  t.after(async () => {
    await worker.close()
    await node.close()
    rmSync(folder, { recursive: true })
  })
  const [first] = node.truth.chain()
  assert.ok(first)
  const answer = await upstreams.callRaw('getVirtualChainFromBlockV2', { startHash: first.hash })
  // Its requests to the node are not measured.
  await upstreams.close()
  assert.ok(answer.ok)
  const { bytes } = answer
  const size = bytes.length
  await worker.indexer.startAt(
    {
      hash: first.hash,
      blueScore: Number(first.blueScore),
      daaScore: Number(first.daaScore),
      timeMs: first.timestamp,
    },
    [],
  )
  // Processor time, because a busy machine lengthens both the thread's work and any turn of the main thread.
  const [allBefore, mainBefore] = [process.cpuUsage(), process.threadCpuUsage()]
  const applied = await worker.indexer.applyChain(first.hash, bytes, false)
  const [allMs, mainMs] = [spentMs(process.cpuUsage(allBefore)), spentMs(process.threadCpuUsage(mainBefore))]
  const transactions = node.truth.chain().reduce((sum, block) => sum + block.accepted.length, 0)
  assert.equal(applied.checkpoint?.hash, node.truth.sink())
  assert.ok(transactions > 400, `${transactions} transactions`)
  assert.equal(bytes.length, 0, 'the bytes were moved, not copied')
  assert.ok(mainMs < allMs / 50, `the main thread worked ${mainMs} of ${allMs} ms`)
  t.diagnostic(
    `${transactions} transactions, ${size} bytes in ${Math.round(allMs)} ms of processor time; main thread ${mainMs.toFixed(1)} ms`,
  )
})
