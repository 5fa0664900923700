import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { createNotificationQueue } from './notification-queue.ts'

const bytes = (n: number) => Uint8Array.of(n)

test('blocks keep their order in batches of bounded size; of scores close together only the newest counts', () => {
  const clock = manualClock(0)
  const receiver = createNotificationQueue(clock, { blocks: 10, bytes: 100, perTake: 2 })
  assert.equal(receiver.take(), undefined)
  for (const n of [1, 2, 3]) receiver.block(bytes(n))
  receiver.daaScore(bytes(7))
  receiver.daaScore(bytes(8))
  assert.deepEqual(receiver.take(), {
    blocks: [bytes(1), bytes(2)],
    daaScores: [bytes(8)],
    blueScores: [],
  })
  receiver.blueScore(bytes(9))
  clock.advance(24)
  receiver.blueScore(bytes(10))
  clock.advance(1)
  receiver.blueScore(bytes(11))
  assert.deepEqual(receiver.take(), {
    blocks: [bytes(3)],
    daaScores: [],
    blueScores: [bytes(10), bytes(11)],
  })
  assert.equal(receiver.take(), undefined)
  assert.equal(receiver.wasBroken(), false)
})

test('a queue that overflows, by count or bytes, is emptied and reports it once', () => {
  for (const limits of [
    { blocks: 3, bytes: 100, perTake: 10 },
    { blocks: 100, bytes: 3, perTake: 10 },
  ]) {
    const receiver = createNotificationQueue(manualClock(0), limits)
    for (const n of [1, 2, 3]) receiver.block(bytes(n))
    assert.equal(receiver.wasBroken(), false)
    receiver.block(bytes(4))
    assert.equal(receiver.take(), undefined)
    assert.deepEqual([receiver.wasBroken(), receiver.wasBroken()], [true, false])
    receiver.block(bytes(5))
    assert.deepEqual(receiver.take(), { blocks: [bytes(5)], daaScores: [], blueScores: [] })
  }
})
