/** Proves that slow receivers never take the slots of quick ones, and that every receiver gets a first slot. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import type { SubscriptionRecord } from '../store/jobs.ts'
import { InFlight } from './in-flight.ts'
import { batchWaitMs, createReceiverQueue, type ReceiverQueue } from './receiver-queue.ts'

const clock = manualClock(1_000_000)
const queueOf = (slow: boolean, batch = false): ReceiverQueue => {
  const record = { id: 'wh_1', active: true, batch, failingSinceMs: null } as SubscriptionRecord
  return Object.assign(createReceiverQueue(record, clock), { slow })
}
const fill = (inFlight: InFlight, queue: ReceiverQueue) => {
  const started = []
  while (inFlight.hasRoom(queue)) started.push(inFlight.start(queue, clock.now()))
  return started
}

test('a quick receiver has sixteen slots, a slow one two, a batch one', () => {
  for (const [queue, slots] of [
    [queueOf(false), 16],
    [queueOf(true), 2],
    [queueOf(false, true), 1],
  ] as const) {
    assert.equal(fill(new InFlight(), queue).length, slots)
  }
})

test('slow receivers together have 500 slots; beyond that each has one, and a quick one keeps all of its own', () => {
  const inFlight = new InFlight()
  for (let count = 0; count < 300; count++) fill(inFlight, queueOf(true))
  assert.equal(inFlight.size, 250 * 2 + 50)
  assert.equal(fill(inFlight, queueOf(false)).length, 16)
})

test('an attempt that becomes old makes its receiver slow and no longer takes a slot of the quick ones', () => {
  const inFlight = new InFlight()
  const queues = Array.from({ length: 100 }, () => queueOf(false))
  for (const queue of queues) fill(inFlight, queue)
  const late = queueOf(false)
  assert.equal(fill(inFlight, late).length, 2, 'while it is crowded')
  assert.deepEqual(inFlight.takeStarved().includes(late), true)
  inFlight.markOld(clock.now() + 2_000)
  assert.ok(queues.every(({ slow }) => slow))
  late.slow = false
  assert.equal(fill(inFlight, late).length, 14, 'the rest of its slots')
})

test('an attempt that ends releases its slot, whatever state its receiver is in', () => {
  const inFlight = new InFlight()
  const queue = queueOf(false)
  const started = fill(inFlight, queue)
  inFlight.markOld(clock.now() + 2_000)
  for (const attempt of started) inFlight.end(attempt)
  assert.equal(inFlight.size, 0)
  assert.equal(queue.inFlight, 0)
  queue.slow = false
  assert.equal(fill(inFlight, queue).length, 16)
})

test('an incomplete batch waits 200 ms from its first event, also when the clock is set back', () => {
  const queue = queueOf(false, true)
  assert.equal(batchWaitMs(queue, 1_000), 200)
  assert.equal(batchWaitMs(queue, 1_150), 50)
  assert.equal(batchWaitMs(queue, 1_200), 0)
  assert.equal(batchWaitMs(queue, 500), 0)
})
