import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHashQueue, type HashCaller } from './hash-queue.ts'

/** Work that takes one turn of the event loop, and a record of how much of it runs at a time. */
function createRig() {
  const queue = createHashQueue()
  const order: string[] = []
  let running = 0
  let widest = 0
  const run = (caller: HashCaller, name = 'stranger') =>
    queue(caller, async () => {
      running++
      widest = Math.max(widest, running)
      await new Promise(setImmediate)
      running--
      order.push(name)
    }).then(
      () => 'done',
      (error: Error) => error.name,
    )
  return { run, order, widest: () => widest }
}
const stranger = (address: string): HashCaller => ({ address, known: false })
const busy = (outcomes: readonly string[]) => outcomes.filter((outcome) => outcome === 'BusyError').length

test('one address cannot fill the hash queue for others', async () => {
  const { run } = createRig()
  const flood = Array.from({ length: 500 }, (_, i) => run(stranger(`2001:db8::${i.toString(16)}`)))
  const owner = run(stranger('192.0.2.1'))
  assert.equal(await owner, 'done')
  assert.equal(busy(await Promise.all(flood)), 494)
})

test('a known device goes before all strangers and is not refused because of them, however many wait', async () => {
  const { run, order } = createRig()
  const flood = Array.from({ length: 1_000 }, (_, i) => run(stranger(`10.0.${i >> 8}.${i & 255}`)))
  assert.equal(await run({ address: '10.0.0.1', known: true }, 'owner'), 'done')
  assert.ok(order.indexOf('owner') <= 4, `${order.indexOf('owner')} came first`)
  await Promise.all(flood)
})

test('known callers who keep coming do not keep others out', async () => {
  const { run, order } = createRig()
  const loops = Array.from({ length: 3 }, async (_, i) => {
    for (let round = 0; round < 20; round++) await run({ address: `10.0.0.${i}`, known: true }, 'known')
  })
  assert.equal(await run(stranger('192.0.2.1')), 'done')
  assert.ok(order.indexOf('stranger') <= 6, `${order.indexOf('stranger')} came first`)
  await Promise.all(loops)
})

test('two run at a time, the queue is bounded, and it empties afterwards', async () => {
  const { run, widest } = createRig()
  const crowd = (from: number) =>
    Promise.all(Array.from({ length: 300 }, (_, i) => run(stranger(`10.${from}.${i >> 8}.${i & 255}`))))
  for (let round = 0; round < 3; round++) assert.equal(busy(await crowd(round)), 300 - 130)
  assert.equal(widest(), 2)
})

test('work that fails releases its slot', async () => {
  const queue = createHashQueue()
  for (let i = 0; i < 10; i++) {
    await assert.rejects(
      queue(stranger('192.0.2.1'), () => Promise.reject(new Error('broken'))),
      /broken/,
    )
  }
  assert.equal(await queue(stranger('192.0.2.1'), async () => 1), 1)
})
