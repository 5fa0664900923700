import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { createLogger } from '../kit/log.ts'
import { exchangeCounts } from './exchange-counts.ts'
import { SharedActive } from './share-active.ts'

const LIMIT = 6

async function withProcesses(
  run: (parts: {
    active: (index: number) => SharedActive
    pass: (ms: number) => Promise<void>
    die: (index: number) => void
    cutOff: () => void
  }) => Promise<void>,
): Promise<void> {
  const clock = manualClock(1_000_000)
  const store = storesIn(':memory:', clock).coordination()
  let isAway = false
  const parties = ['a', 'b', 'c'].map((holder) => {
    const exchange = exchangeCounts({
      store: {
        exchangeCounts: (own) => (isAway ? Promise.reject(new Error('away')) : store.exchangeCounts(own)),
      },
      ...{ holder, clock, log: createLogger({ level: 'silent' }) },
    })
    return { exchange, active: new SharedActive('stream', exchange) }
  })
  const part = (index: number) => parties[index] as (typeof parties)[number]
  try {
    await run({
      active: (index) => part(index).active,
      async pass(ms) {
        for (let passed = 0; passed < ms; passed += 100) {
          clock.advance(100)
          await turn()
        }
      },
      die: (index) => part(index).exchange.close(),
      cutOff: () => {
        isAway = true
      },
    })
  } finally {
    for (const { exchange } of parties) exchange.close()
    await store.close()
  }
}

test('what an account has active in one process is taken off its limit in the others', () =>
  withProcesses(async ({ active, pass }) => {
    active(0).left('acc', LIMIT)
    const end = active(1).add('acc', 4)
    await pass(200)
    assert.equal(active(1).left('acc', LIMIT), 2)
    assert.equal(active(0).left('acc', LIMIT), 2)
    assert.equal(active(0).left('other', LIMIT), LIMIT)
    // Held for a long time without a change, like a stream.
    await pass(20_000)
    active(0).left('acc', LIMIT)
    await pass(200)
    assert.equal(active(0).left('acc', LIMIT), 2)
    end()
    await pass(200)
    assert.equal(active(0).left('acc', LIMIT), LIMIT)
  }))

test('what a process held that has died is free again within seconds', () =>
  withProcesses(async ({ active, pass, die }) => {
    active(1).add('acc', 4)
    active(0).left('acc', LIMIT)
    await pass(200)
    assert.equal(active(0).left('acc', LIMIT), 2)
    die(1)
    await pass(4_000)
    active(0).left('acc', LIMIT)
    await pass(200)
    assert.equal(active(0).left('acc', LIMIT), LIMIT)
  }))

test('while the store is away every process has its part of the limit', () =>
  withProcesses(async ({ active, pass, cutOff }) => {
    await pass(2_500)
    cutOff()
    await pass(3_000)
    assert.deepEqual(
      [0, 1, 2].map((index) => active(index).left('acc', LIMIT)),
      [2, 2, 2],
    )
    active(0).add('acc', 2)
    assert.equal(active(0).left('acc', LIMIT), 0)
    assert.equal(active(0).left('acc', 1), -1, 'what is open stays open')
  }))
