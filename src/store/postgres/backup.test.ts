import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstNeededWal } from './backup.ts'

test('after a restore to an earlier time the archive keeps what the newest backup needs', () => {
  const wal = (timeline: number, segment: number) => ({
    firstWal: [timeline, 0, segment].map((part) => part.toString(16).toUpperCase().padStart(8, '0')).join(''),
  })
  const [before, restored] = [wal(1, 30), wal(2, 18)]
  assert.equal(firstNeededWal([before, restored]), restored.firstWal)
  assert.equal(firstNeededWal([wal(1, 30), wal(1, 31)]), before.firstWal)
  assert.equal(firstNeededWal([]), undefined)
})
