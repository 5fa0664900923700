import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ManualClock, manualClock } from '../../test/fakes/manual-clock.ts'
import { createLogger } from '../kit/log.ts'
import type { Fence, LeaseStore } from '../store/leases.ts'
import { openStores, parseStoreAddress } from '../store/open-stores.ts'
import { leadPart } from './lead.ts'

const log = createLogger({ level: 'silent' })

/** Two processes over one store; a process can be cut off from it. */
function processesOn(clock: ManualClock) {
  const store = openStores(parseStoreAddress(':memory:'), clock).leases()
  const started = async (holder: string) => {
    let isCut = false
    const reached = async <R>(call: () => Promise<R>) => {
      if (isCut) throw new Error('cut off')
      return call()
    }
    const leases: LeaseStore = {
      take: (request) => reached(() => store.take(request)),
      renew: (fence, durationMs) => reached(() => store.renew(fence, durationMs)),
      release: (fence) => reached(() => store.release(fence)),
      list: () => reached(() => store.list()),
      close: async () => {},
    }
    const led: { fence: Fence | undefined; fromMs: number; toMs?: number }[] = []
    const leader = await leadPart('index/live', { leases, holder, clock, log }, async (fence) => {
      const time: (typeof led)[number] = { fence, fromMs: clock.now() }
      led.push(time)
      return {
        async close() {
          time.toMs = clock.now()
        },
      }
    })
    return { leader, led, cut: () => (isCut = true), reach: () => (isCut = false) }
  }
  return { store, started }
}

/** Advances in steps, so that every timer and promise in between gets its turn. */
async function pass(clock: ManualClock, ms: number) {
  for (let left = ms; left > 0; left -= 100) {
    clock.advance(100)
    for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

test('one process leads; the other takes over when it is stopped, at once, under the next term', async () => {
  const clock = manualClock(1_000_000)
  const { store, started } = processesOn(clock)
  const a = await started('a')
  await pass(clock, 500)
  const b = await started('b')
  await pass(clock, 60_000)
  assert.deepEqual([a.leader.isLeading, b.leader.isLeading], [true, false])
  assert.equal(a.led.length, 1)
  const closing = a.leader.close()
  await pass(clock, 2_000)
  await closing
  assert.equal(b.leader.isLeading, true)
  assert.deepEqual([a.led[0]?.fence?.term, b.led[0]?.fence?.term], [1, 2])
  assert.ok(Number(b.led[0]?.fromMs) - Number(a.led[0]?.toMs) <= 1_100)
  const stopping = b.leader.close()
  await pass(clock, 1_000)
  await stopping
  await store.close()
})

test('another process begins within 15 s when a leader is cut off; the leader ends when it hears of that', async () => {
  for (let phase = 0; phase < 2_000; phase += 700) {
    const clock = manualClock(1_000_000)
    const { store, started } = processesOn(clock)
    const a = await started('a')
    await pass(clock, 100)
    const b = await started('b')
    await pass(clock, 5_000 + phase)
    const cutAtMs = clock.now()
    a.cut()
    await pass(clock, 15_000)
    assert.equal(b.leader.isLeading, true)
    assert.ok(Number(b.led[0]?.fromMs) - cutAtMs <= 11_500)
    // The writes of the old leader would carry a term that is over.
    assert.deepEqual([a.led[0]?.fence?.term, b.led[0]?.fence?.term], [1, 2])
    const reachedAtMs = clock.now()
    a.reach()
    await pass(clock, 2_000)
    assert.equal(a.leader.isLeading, false)
    assert.ok(Number(a.led[0]?.toMs) - reachedAtMs <= 1_000, 'it ends')
    const stopping = Promise.all([a.leader.close(), b.leader.close()])
    await pass(clock, 12_000)
    await stopping
    await store.close()
  }
})

test('after an outage of the store the leader goes on under its term, whoever asks first', async () => {
  for (let phase = 0; phase < 2_000; phase += 300) {
    const clock = manualClock(1_000_000)
    const { store, started } = processesOn(clock)
    const a = await started('a')
    await pass(clock, 100 + phase)
    const b = await started('b')
    await pass(clock, 5_000)
    a.cut()
    b.cut()
    await pass(clock, 60_000 + phase)
    a.reach()
    b.reach()
    await pass(clock, 20_000)
    assert.deepEqual([a.leader.isLeading, b.leader.isLeading], [true, false])
    assert.deepEqual([a.led.length, a.led[0]?.toMs, b.led.length], [1, undefined, 0])
    const stopping = Promise.all([a.leader.close(), b.leader.close()])
    await pass(clock, 2_000)
    await stopping
    await store.close()
  }
})

test('a process that was stopped for longer than its lease begins again, also where nobody took over', async () => {
  const clock = manualClock(1_000_000)
  const { store, started } = processesOn(clock)
  const a = await started('a')
  await pass(clock, 5_000)
  clock.advance(30_000)
  await pass(clock, 3_000)
  assert.deepEqual([a.led.length, a.led[0]?.fence?.term, a.led[1]?.fence?.term], [2, 1, 2])
  assert.equal(a.leader.isLeading, true)
  const stopping = a.leader.close()
  await pass(clock, 1_000)
  await stopping
  await store.close()
})

test('after an outage that the leader did not survive another process begins', async () => {
  const clock = manualClock(1_000_000)
  const { store, started } = processesOn(clock)
  const a = await started('a')
  await pass(clock, 100)
  const b = await started('b')
  await pass(clock, 5_000)
  a.cut()
  b.cut()
  await pass(clock, 20_000)
  b.reach()
  await pass(clock, 4_500)
  assert.equal(b.leader.isLeading, true)
  a.reach()
  const stopping = Promise.all([a.leader.close(), b.leader.close()])
  await pass(clock, 6_000)
  await stopping
  await store.close()
})

test('a part that cannot begin is left to others, and tried again', async () => {
  const clock = manualClock(1_000_000)
  const { store } = processesOn(clock)
  let attempts = 0
  const leader = await leadPart('upkeep', { leases: store, holder: 'a', clock, log }, async () => {
    attempts++
    if (attempts < 3) throw new Error('not yet')
    return { close: async () => {} }
  })
  await pass(clock, 10_000)
  assert.equal(attempts, 3)
  assert.equal(leader.isLeading, true)
  const closing = leader.close()
  await pass(clock, 1_000)
  await closing
  await store.close()
})

test('without leases the part begins at once, and its failure is the caller’s', async () => {
  const clock = manualClock(0)
  const alone = { leases: undefined, holder: 'a', clock, log }
  const fences: unknown[] = []
  const leader = await leadPart('index/test', alone, async (fence) => {
    fences.push(fence)
    return { close: async () => {} }
  })
  assert.deepEqual(fences, [undefined])
  await leader.close()
  await assert.rejects(
    leadPart('index/test', alone, () => Promise.reject(new Error('no'))),
    /no/,
  )
})
