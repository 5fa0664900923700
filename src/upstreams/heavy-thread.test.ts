import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { type FakeNode, startFakeNode } from '../../test/fakes/wrpc-node.ts'
import { startHeavyThread } from './heavy-thread.ts'

async function started(t: TestContext, settings = { socketsPerNode: 2, maxWaitingPerNode: 2 }) {
  const node: FakeNode = await startFakeNode()
  const thread = startHeavyThread({ nodes: [{ name: 'a', url: node.url }], ...settings })
  t.after(async () => {
    await thread.close()
    await node.close()
  })
  return { node, thread }
}
const PARAMS = '{"includeBlocks":true,"includeTransactions":true}'
const timeoutMs = 30_000

test('small and large answers come back whole, one call per socket at a time', async (t) => {
  const { node, thread } = await started(t)
  const large = `{"blocks":["${'x'.repeat(3_000_000)}"],"nonce":18446744073709551615}`
  node.respond.set('getBlocks', () => large)
  node.respond.set('getMempoolEntries', () => '{"mempoolEntries":[]}')
  const [a, b, c] = await Promise.all([
    thread.call('a', 'getBlocks', PARAMS, { timeoutMs }),
    thread.call('a', 'getMempoolEntries', '{"includeOrphanPool":false,"filterTransactionPool":false}', {
      timeoutMs,
    }),
    thread.call('a', 'getBlocks', PARAMS, { timeoutMs }),
  ])
  assert.ok(a.kind === 'result' && b.kind === 'result' && c.kind === 'result')
  assert.ok(a.bytes.equals(Buffer.from(large)))
  assert.ok(c.bytes.equals(a.bytes))
  assert.equal(b.bytes.toString(), '{"mempoolEntries":[]}')
  assert.ok(node.connections <= 2)
  assert.equal(thread.inFlight('a'), 0)
  assert.deepEqual(node.violations, [])
})

test('the queue is bounded, and a cancelled call leaves it', async (t) => {
  const { node, thread } = await started(t)
  node.hang()
  const stop = new AbortController()
  const open = Array.from({ length: 4 }, () =>
    thread.call('a', 'getBlocks', PARAMS, { timeoutMs, signal: stop.signal }),
  )
  await new Promise((resolve) => setTimeout(resolve, 300))
  const refused = await thread.call('a', 'getBlocks', PARAMS, { timeoutMs })
  assert.ok(refused.kind === 'fault' && refused.fault === 'overloaded' && !refused.sent)
  stop.abort()
  for (const answer of await Promise.all(open))
    assert.ok(answer.kind === 'fault' && answer.fault === 'cancelled')
  node.resume()
  const later = await thread.call('a', 'getBlocks', PARAMS, { timeoutMs })
  assert.equal(later.kind, 'result')
})

test('a call that outlives its limit is a fault and the next one gets a fresh socket', async (t) => {
  const { node, thread } = await started(t)
  node.hang()
  const hung = await thread.call('a', 'getBlocks', PARAMS, { timeoutMs: 1_000 })
  assert.ok(hung.kind === 'fault' && hung.fault === 'timeout' && hung.sent)
  node.resume()
  assert.equal((await thread.call('a', 'getBlocks', PARAMS, { timeoutMs })).kind, 'result')
})

test('a dead node is a fault at once, not at the deadline', async (t) => {
  const { node, thread } = await started(t)
  assert.equal((await thread.call('a', 'getBlocks', PARAMS, { timeoutMs })).kind, 'result')
  await node.die()
  const startedMs = performance.now()
  const answers = await Promise.all([1, 2].map(() => thread.call('a', 'getBlocks', PARAMS, { timeoutMs })))
  for (const answer of answers) {
    // The socket that was idle may still look open to the first of them.
    assert.ok(answer.kind === 'fault' && ['not_connected', 'closed'].includes(answer.fault))
  }
  assert.ok(performance.now() - startedMs < timeoutMs / 2)
})

test('an answer of 40 MB hardly occupies the event loop', async (t) => {
  const workerData = { bytes: 40_000_000 }
  const worker = new Worker(new URL('../../test/fakes/huge-node.ts', import.meta.url), { workerData })
  const [{ url, answerBytes }] = (await once(worker, 'message')) as [{ url: string; answerBytes: number }]
  const thread = startHeavyThread({ nodes: [{ name: 'huge', url }], socketsPerNode: 1, maxWaitingPerNode: 1 })
  t.after(async () => {
    await thread.close()
    await worker.terminate()
  })
  await thread.call(
    'huge',
    'getMempoolEntries',
    '{"includeOrphanPool":false,"filterTransactionPool":false}',
    { timeoutMs },
  )
  const before = process.threadCpuUsage()
  const answer = await thread.call('huge', 'getBlocks', PARAMS, { timeoutMs: 60_000 })
  const { user, system } = process.threadCpuUsage(before)
  assert.ok(answer.kind === 'result')
  assert.equal(answer.bytes.length, answerBytes)
  const spentMs = (user + system) / 1_000
  const parseStartedMs = process.threadCpuUsage().user
  JSON.parse(answer.bytes.toString())
  const parseMs = (process.threadCpuUsage().user - parseStartedMs) / 1_000
  assert.ok(spentMs < parseMs / 4, `${spentMs} ms on this thread, ${parseMs} ms to parse`)
})
