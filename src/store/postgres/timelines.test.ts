import assert from 'node:assert/strict'
import { test } from 'node:test'
import { continuedBy, type Timeline, timelineAt } from './timelines.ts'

const backup = (timeline: number, takenAtMs: number) => ({
  firstWal: `${timeline.toString(16).toUpperCase().padStart(8, '0')}0000000000000003`,
  takenAtMs,
})
const timeline = (id: number, parent: number, archivedAtMs: number): Timeline => ({
  id,
  archivedAtMs,
  leftAt: new Map([[parent, 100n]]),
})

test('the timeline in use is that of the newest backup, or one that began since', () => {
  const restored = [timeline(2, 1, 20)]
  assert.deepEqual(
    [10, 19, 20, 99].map((atMs) => timelineAt(restored, [backup(1, 5), backup(1, 15)], atMs)),
    [1, 1, 2, 2],
  )
  // A server that only tried a backup archived its timeline, and the first server went on.
  assert.equal(timelineAt(restored, [backup(1, 5), backup(1, 25)], 99), 1)
})

test('a timeline is never newer than a backup of it, even if a copy of the archive lost its times', () => {
  const copied = [timeline(2, 1, 1_000), timeline(3, 1, 1_000)]
  const backups = [backup(1, 5), backup(2, 25), backup(3, 35)]
  assert.deepEqual(
    [24, 25, 34, 35, 2_000].map((atMs) => timelineAt(copied, backups, atMs)),
    [1, 2, 2, 3, 3],
  )
})

test('the last segment of a timeline is in that of the server that took over, unless its own server went on', () => {
  const bytes = 16_777_216
  const segment = (id: number, index: number) => ({
    name: `0000000${id}00000000${index.toString(16).toUpperCase().padStart(8, '0')}`,
    bytes,
  })
  const taken = [{ ...timeline(2, 1, 20), leftAt: new Map([[1, BigInt(bytes) * 5n + 77n]]) }]
  assert.equal(continuedBy(taken, 1, [segment(1, 4), segment(2, 5)]), 2)
  assert.equal(continuedBy(taken, 1, [segment(1, 4), segment(1, 5), segment(2, 5)]), 1)
  const again = [
    ...taken,
    { ...timeline(3, 2, 30), leftAt: new Map([...(taken[0]?.leftAt ?? []), [2, BigInt(bytes) * 6n + 1n]]) },
  ]
  assert.equal(continuedBy(again, 1, [segment(1, 4), segment(2, 5), segment(3, 6)]), 3)
})
