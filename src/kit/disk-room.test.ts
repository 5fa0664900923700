import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { watchDiskRoom } from './disk-room.ts'

test('room below the floor is noticed within ten seconds, and is enough again only with some more', async () => {
  const clock = manualClock(0)
  let free = 2_000
  const changes: boolean[] = []
  const room = await watchDiskRoom({
    folder: '/',
    minFreeBytes: 1_000,
    clock,
    ask: async () => ({ bavail: free, blocks: 10_000, bsize: 1 }),
    onChange: ({ isLow }) => changes.push(isLow),
  })
  const after = async (bytes: number) => {
    free = bytes
    clock.advance(10_000)
    await new Promise((resolve) => setImmediate(resolve))
    return room.isLow()
  }
  assert.equal(room.isLow(), false)
  assert.equal(await after(1_000), false)
  assert.equal(await after(999), true)
  assert.equal(await after(1_010), true)
  assert.equal(await after(1_050), false)
  assert.deepEqual(changes, [true, false])
  assert.deepEqual([room.freeBytes(), room.sizeBytes()], [1_050, 10_000])
  room.close()
})

test('the disk of a real folder has a size, and without a floor no room is too little', async () => {
  const room = await watchDiskRoom({ folder: '.', minFreeBytes: null, clock: manualClock(0) })
  assert.ok((room.freeBytes() ?? 0) > 0 && (room.sizeBytes() ?? 0) > (room.freeBytes() ?? 0))
  assert.equal(room.isLow(), false)
  room.close()
})
