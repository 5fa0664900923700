import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { type FakeNode, startFakeNode } from '../../test/fakes/wrpc-node.ts'
import { until } from '../../test/until.ts'
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
  await until('the first call is sent', () => node.received('getBlocks') === 1)
  const refused = await thread.call('a', 'getBlocks', PARAMS, { timeoutMs })
  assert.ok(refused.kind === 'fault' && refused.fault === 'overloaded' && !refused.sent)
  stop.abort()
  const cancelled = await Promise.all(open)
  for (const answer of cancelled) assert.ok(answer.kind === 'fault' && answer.fault === 'cancelled')
  assert.deepEqual(
    cancelled.map((answer) => answer.kind === 'fault' && answer.sent),
    [true, false, false, false],
  )
  node.resume()
  const later = await thread.call('a', 'getBlocks', PARAMS, { timeoutMs })
  assert.equal(later.kind, 'result')
})

test('calls of the index have a socket and a place in the queue, however many others hang', async (t) => {
  const { node, thread } = await started(t)
  node.respond.set('getBlocks', () => undefined)
  node.respond.set('getMempoolEntries', () => '{"mempoolEntries":[]}')
  const stop = new AbortController()
  const hung = Array.from({ length: 4 }, () =>
    thread.call('a', 'getBlocks', PARAMS, { timeoutMs, signal: stop.signal }),
  )
  const query = '{"includeOrphanPool":true,"filterTransactionPool":false}'
  const ask = (isPriority: boolean) =>
    thread.call('a', 'getMempoolEntries', query, { timeoutMs: 5_000, isPriority })
  const refused = await ask(false)
  assert.ok(refused.kind === 'fault' && refused.fault === 'overloaded')
  for (let i = 0; i < 3; i++) assert.equal((await ask(true)).kind, 'result')
  for (const answer of await Promise.all([ask(true), ask(true)])) assert.equal(answer.kind, 'result')
  assert.equal(node.received('getBlocks'), 1)
  stop.abort()
  await Promise.all(hung)
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
    // The first call may still find the idle socket open.
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
