import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { readSlots } from './read-slots.ts'

test('a third of the connections is for samples, others wait for it, too many are refused, and pages do not wait for them', async () => {
  const inSlot = readSlots(10)
  const begun: number[] = []
  const ends: (() => void)[] = []
  const read = (n: number) =>
    inSlot({ stepMs: 60_000 }, async () => {
      begun.push(n)
      await new Promise<void>((resolve) => ends.push(resolve))
      if (n === 0) throw new RangeError('a read that fails gives its slot back, too')
      return n
    })
  const reads = Array.from({ length: 4 + 64 }, (_, n) => read(n))
  const outcomes = Promise.allSettled(reads)
  await assert.rejects(read(99), StoreUnavailableError)
  assert.deepEqual(begun, [0, 1, 2, 3])
  assert.equal(await inSlot({}, async () => 'a page'), 'a page')
  for (let ended = 0; ended < reads.length; ended++) {
    ends[ended]?.()
    // The next one begins some microtasks later.
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(begun.length, Math.min(reads.length, ended + 5))
  }
  assert.deepEqual(
    begun,
    Array.from(reads, (_, n) => n),
  )
  assert.equal((await outcomes).filter(({ status }) => status === 'rejected').length, 1)
})

test('however few connections there are, samples and pages together leave one to others', async () => {
  for (const poolSize of [2, 3, 4, 5, 6, 7, 10]) {
    const inSlot = readSlots(poolSize)
    const ends: (() => void)[] = []
    const reads = [60_000, undefined].flatMap((stepMs) =>
      Array.from({ length: poolSize }, () =>
        inSlot(
          stepMs === undefined ? {} : { stepMs },
          () => new Promise<void>((resolve) => ends.push(resolve)),
        ),
      ),
    )
    await new Promise((resolve) => setImmediate(resolve))
    assert.ok(ends.length >= 1 && ends.length < poolSize, `${ends.length} of ${poolSize}`)
    for (let ended = 0; ended < reads.length; ended++) {
      ends[ended]?.()
      await new Promise((resolve) => setImmediate(resolve))
    }
    await Promise.all(reads)
  }
})

test('pages of markets leave connections to others', async () => {
  const inSlot = readSlots(10)
  const ends: (() => void)[] = []
  const pages = Array.from({ length: 7 }, () =>
    inSlot({}, () => new Promise<void>((resolve) => ends.push(resolve))),
  )
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(ends.length, 5)
  for (let ended = 0; ended < pages.length; ended++) {
    ends[ended]?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(pages)
})
