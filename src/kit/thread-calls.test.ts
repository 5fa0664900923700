import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { type Calculator, OutOfRangeError } from '../../test/fakes/calculator-thread.ts'
import { type ThreadCallsOptions, ThreadEndedError, threadCalls } from './thread-calls.ts'

const FILE = new URL('../../test/fakes/calculator-thread.ts', import.meta.url)

function start(t: TestContext, options: Partial<ThreadCallsOptions> = {}) {
  const calls = threadCalls<Calculator>(FILE, { name: 'calculator', data: { serves: true }, ...options })
  t.after(() => calls.terminate())
  return calls
}

test('calls are answered with their own result, whatever the order of the answers', async (t) => {
  const calls = start(t)
  const [slow, sum] = await Promise.all([calls.call('slowly', [7]), calls.call('add', [2n ** 64n, 1n])])
  assert.equal(slow, 7)
  assert.equal(sum, 2n ** 64n + 1n)
})

test('an error arrives with its class, message and members; an unknown class with its name and code', async (t) => {
  const calls = start(t, { errors: [OutOfRangeError] })
  await assert.rejects(calls.call('refuse', [5]), (error) => {
    assert.ok(error instanceof OutOfRangeError)
    assert.deepEqual([error.name, error.message, error.limit], ['OutOfRangeError', 'more than 5', 5])
    return true
  })
  await assert.rejects(calls.call('fail', []), { name: 'TypeError', message: 'no such file', code: 'ENOENT' })
  const unknown = 'subtract' as 'add'
  await assert.rejects(calls.call(unknown, [1n, 1n]), /no function subtract/)
  assert.equal(await calls.call('add', [1n, 1n]), 2n, 'the thread goes on')
})

test('what cannot be sent is refused and leaves nothing in flight', async (t) => {
  const calls = start(t, { maxWeight: 1 })
  await assert.rejects(calls.call('slowly', [(() => 1) as unknown as number]), { name: 'DataCloneError' })
  await calls.ready()
})

test('buffers are moved in both directions', async (t) => {
  const calls = start(t)
  const bytes = new Uint8Array([9, 8])
  assert.equal(await calls.call('first', [bytes], { transfer: [bytes.buffer] }), 9)
  assert.equal(bytes.length, 0, 'moved, not copied')
  assert.equal((await calls.call('zeros', [1_000])).memory.byteLength, 1_000)
})

test('ready waits while too much is in flight', async (t) => {
  const calls = start(t, { maxWeight: 10 })
  await calls.ready()
  const done: string[] = []
  const work = calls.call('slowly', [1], { weight: 10 }).then(() => done.push('call'))
  const ready = calls.ready().then(() => done.push('ready'))
  await Promise.all([work, ready])
  assert.deepEqual(done.sort(), ['call', 'ready'])
  assert.equal(done.length, 2)
})

test('when the thread dies every call is rejected, in flight and later, and waiting callers continue', async (t) => {
  const calls = start(t, { maxWeight: 1 })
  const inFlight = [calls.call('never', []), calls.call('never', [])]
  const ready = calls.ready()
  void calls.call('die', []).catch(() => {})
  for (const call of inFlight) await assert.rejects(call, ThreadEndedError)
  await ready
  await assert.rejects(calls.call('add', [1n, 1n]), /the calculator has ended/)
  assert.throws(() => calls.probe(), ThreadEndedError)
  assert.ok((await calls.ended) instanceof ThreadEndedError)
  await calls.close()
})

test('an exception outside of a call ends the thread, and the reason is named', async (t) => {
  const calls = start(t)
  const waiting = calls.call('never', [])
  void calls.call('throwLater', []).catch(() => {})
  await assert.rejects(waiting, /the calculator has ended: broken/)
})

test('a thread that is started by calls is started again after it died', async (t) => {
  const calls = start(t, { startOnCall: true })
  assert.equal(await calls.call('add', [1n, 2n]), 3n)
  const waiting = calls.call('never', [])
  void calls.call('die', []).catch(() => {})
  await assert.rejects(waiting, ThreadEndedError)
  calls.probe()
  assert.equal(await calls.call('add', [1n, 2n]), 3n)
  await calls.close()
  await assert.rejects(calls.call('add', [1n, 2n]), /closed|ended/)
})

test('close answers what was sent, runs the thread’s own close, and refuses later calls', async (t) => {
  const events: unknown[] = []
  const calls = start(t, { onEvent: (event) => events.push(event) })
  const slow = calls.call('slowly', [3])
  const closing = calls.close()
  await assert.rejects(calls.call('add', [1n, 1n]), ThreadEndedError)
  assert.equal(await slow, 3)
  await closing
  assert.deepEqual(events, ['up', 'closed everything'])
  assert.equal(await calls.ended, undefined)
  await calls.close()
})

test('close with a limit ends a thread that does not end by itself', async (t) => {
  const calls = start(t)
  const stuck = calls.call('never', [])
  await calls.call('add', [1n, 1n])
  const closing = calls.close(50)
  await assert.rejects(stuck, ThreadEndedError)
  await closing
})

test('an idle thread does not keep its process alive; one that works by itself does', async () => {
  for (const keepsProcess of [false, true]) {
    const process = new Worker(
      `import('${new URL('./thread-calls.ts', import.meta.url)}').then(async ({ threadCalls }) => {
        const calls = threadCalls(new URL('${FILE}'), { name: 'c', data: { serves: true }, keepsProcess: ${keepsProcess} })
        await calls.call('add', [1n, 1n])
        const end = () => calls.terminate().then(() => require('node:worker_threads').parentPort.postMessage('was alive'))
        setTimeout(end, 100).unref()
      })`,
      { eval: true },
    )
    const messages: unknown[] = []
    process.on('message', (message) => messages.push(message))
    await once(process, 'exit')
    assert.deepEqual(messages, keepsProcess ? ['was alive'] : [])
  }
})
