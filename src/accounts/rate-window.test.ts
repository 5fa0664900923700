import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RateWindow } from './rate-window.ts'

function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const START_MS = Date.UTC(2026, 2, 14)

for (const seed of [1, 2, 3, 4, 5]) {
  test(`no sliding second holds more than the limit, and waiting is exact (seed ${seed})`, () => {
    const random = generator(seed)
    const perSecond = 1 + Math.floor(random() * 20)
    const perMinute = perSecond * (5 + Math.floor(random() * 55))
    const window = new RateWindow({ perSecond, perMinute })
    const passed: number[] = []
    let nowMs = START_MS + Math.floor(random() * 1_000)
    for (let i = 0; i < 4_000; i++) {
      nowMs += Math.floor(random() ** 4 * 400)
      const amount = random() < 0.1 ? 1 + Math.floor(random() * perSecond) : 1
      const verdict = window.take(nowMs, amount)
      if (verdict.ok) {
        for (let n = 0; n < amount; n++) passed.push(nowMs)
        continue
      }
      assert.ok(verdict.retryAfterMs > 0 && verdict.retryAfterMs <= 60_000)
      // One millisecond earlier it would be refused; at that moment it passes.
      const copy = new RateWindow({ perSecond, perMinute })
      for (const at of passed.filter((time) => time > nowMs - 61_000)) copy.take(at)
      assert.equal(copy.take(nowMs + verdict.retryAfterMs - 1, amount).ok, false)
      assert.equal(copy.take(nowMs + verdict.retryAfterMs, amount).ok, true)
    }
    for (let i = 0; i + perSecond < passed.length; i++) {
      assert.ok(
        (passed[i + perSecond] ?? 0) - (passed[i] ?? 0) >= 1_000,
        'a sliding second is over the limit',
      )
    }
    const minutes = new Map<number, number>()
    for (const at of passed)
      minutes.set(Math.floor(at / 1_000), (minutes.get(Math.floor(at / 1_000)) ?? 0) + 1)
    for (const second of minutes.keys()) {
      let sum = 0
      for (let s = second; s < second + 60; s++) sum += minutes.get(s) ?? 0
      assert.ok(sum <= perMinute, 'sixty seconds are over the limit')
    }
  })
}

test('a refused request is not counted', () => {
  const window = new RateWindow({ perSecond: 2, perMinute: 120 })
  window.take(START_MS)
  window.take(START_MS)
  for (let i = 0; i < 10; i++) assert.equal(window.take(START_MS + i * 50).ok, false)
  assert.deepEqual(window.counts(START_MS + 999), { second: 2, minute: 2 })
  assert.deepEqual(window.counts(START_MS + 1_000), { second: 0, minute: 2 })
  assert.equal(window.take(START_MS + 1_000).ok, true)
})

test('the state is that of the window nearest to exhaustion', () => {
  const window = new RateWindow({ perSecond: 10, perMinute: 20 })
  for (let i = 0; i < 5; i++) window.take(START_MS)
  assert.deepEqual(window.state(START_MS), {
    window: 'second',
    limit: 10,
    remaining: 5,
    resetsAtMs: START_MS + 1_000,
  })
  for (let i = 0; i < 10; i++) window.take(START_MS + 2_000)
  assert.equal(window.state(START_MS + 3_100).window, 'minute')
  assert.equal(window.state(START_MS + 3_100).remaining, 5)
  assert.equal(window.state(START_MS + 3_100).resetsAtMs, START_MS + 62_000)
})

test('a clock that is set back does not lock an account out', () => {
  const window = new RateWindow({ perSecond: 1, perMinute: 60 })
  window.take(START_MS + 3_600_000)
  assert.equal(window.take(START_MS).ok, true)
  const verdict = window.take(START_MS + 10)
  assert.deepEqual(verdict, { ok: false, retryAfterMs: 990 })
})
