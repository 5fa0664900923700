import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { postgresPlace, withoutPostgres } from '../../test/postgres/test-postgres.ts'
import { systemClock } from '../kit/clock.ts'
import { createLogger } from '../kit/log.ts'
import { exchangeCounts } from './exchange-counts.ts'
import { RateWindow } from './rate-window.ts'
import { shareRates } from './share-rates.ts'

const START_MS = Date.UTC(2026, 2, 14)
const STEP_MS = 10
const log = createLogger({ level: 'silent' })

/** Floods several processes that share one rate with requests, and returns what all of them admit in each second. */
async function flood(options: {
  processes: number
  seconds: number
  perSecond: number
  perMinute: number
  /** Requests per process and step. */
  requests: number
  /** The store is unavailable from this second on. */
  awayFrom?: number
  startMs?: number
}): Promise<number[]> {
  const clock = manualClock(options.startMs ?? START_MS)
  const store = storesIn(':memory:', clock).coordination()
  let isAway = false
  const limits = { perSecond: options.perSecond, perMinute: options.perMinute }
  const parties = Array.from({ length: options.processes }, (_, index) => {
    const exchange = exchangeCounts({
      store: {
        exchangeCounts: (own) => (isAway ? Promise.reject(new Error('away')) : store.exchangeCounts(own)),
      },
      holder: `process ${index}`,
      clock,
      log,
    })
    return { exchange, rate: new RateWindow(limits, shareRates(exchange)('acc_1/test', limits)) }
  })
  const admitted: number[] = []
  for (let ms = 0; ms < options.seconds * 1_000; ms += STEP_MS) {
    const second = Math.floor(ms / 1_000)
    isAway = second >= (options.awayFrom ?? Number.POSITIVE_INFINITY)
    for (const { rate } of parties) {
      for (let i = 0; i < options.requests; i++)
        if (rate.take(clock.now()).ok) admitted[second] = (admitted[second] ?? 0) + 1
    }
    clock.advance(STEP_MS)
    await turn()
  }
  for (const { exchange } of parties) exchange.close()
  await store.close()
  return Array.from({ length: options.seconds }, (_, second) => admitted[second] ?? 0)
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)

test('three flooded processes admit the limit together: at most three times in one second, and no more in the mean', async () => {
  const limit = 60
  const admitted = await flood({ processes: 3, seconds: 30, perSecond: limit, perMinute: 6_000, requests: 5 })
  const shown = admitted.join(' ')
  assert.ok(Math.max(...admitted) <= 3 * limit, shown)
  // The excess of a second is subtracted from the following ones, so it never adds up to more than that of one second.
  for (let second = 1; second <= 30; second++)
    assert.ok(sum(admitted.slice(0, second)) <= (second + 2) * limit, `${second} s: ${shown}`)
  assert.ok(sum(admitted) <= 31 * limit, `too many: ${shown}`)
  assert.ok(sum(admitted) >= 0.9 * 30 * limit, `too few: ${shown}`)
})

test('a minute that one process used up is used up for the others', async () => {
  const admitted = await flood({ processes: 3, seconds: 50, perSecond: 50, perMinute: 300, requests: 2 })
  // The excess is at most what can be admitted between two exchanges.
  assert.ok(sum(admitted) <= 300 + 3 * 50, admitted.join(' '))
})

test('a sole process admits the whole limit, and exactly that', async () => {
  const admitted = await flood({ processes: 1, seconds: 10, perSecond: 40, perMinute: 2_400, requests: 3 })
  assert.deepEqual(
    admitted,
    Array.from({ length: 10 }, () => 40),
  )
})

test('while the store is away each process admits its part of the limit', async () => {
  const options = { processes: 3, seconds: 20, perSecond: 60, perMinute: 6_000, requests: 5 }
  const admitted = await flood({ ...options, awayFrom: 10 })
  const away = admitted.slice(14)
  assert.ok(
    away.every((count) => count <= 60),
    admitted.join(' '),
  )
  assert.ok(sum(away) >= 0.9 * 60 * away.length, admitted.join(' '))
})

test('the same holds on PostgreSQL, where the exchange takes its time', {
  skip: withoutPostgres,
}, async () => {
  const limits = { perSecond: 50, perMinute: 3_000 }
  const place = postgresPlace()
  const parties = Array.from({ length: 3 }, (_, index) => {
    const store = storesIn(place.address).coordination()
    const exchange = exchangeCounts({ store, holder: `process ${index}`, clock: systemClock, log })
    return { store, exchange, rate: new RateWindow(limits, shareRates(exchange)('acc_1/test', limits)) }
  })
  try {
    // Creates the tables first.
    await Promise.all(parties.map(({ store }) => store.listHeartbeats()))
    // A window that is almost over could be used up by each process before the first exchange, and so could the next.
    await delay(1_000 - (Date.now() % 1_000))
    const startMs = Date.now()
    let admitted = 0
    let seconds = 0
    while (seconds < 5) {
      for (const { rate } of parties) for (let i = 0; i < 5; i++) if (rate.take(Date.now()).ok) admitted++
      await delay(10)
      seconds = (Date.now() - startMs) / 1_000
      // Windows are whole seconds of the clock, so one that has just begun may already be used up.
      assert.ok(admitted <= (Math.ceil(seconds) + 3) * limits.perSecond, `${admitted} after ${seconds} s`)
    }
    assert.ok(admitted >= 0.7 * seconds * limits.perSecond, `only ${admitted} after ${seconds} s`)
  } finally {
    for (const { exchange } of parties) exchange.close()
    await Promise.all(parties.map(({ store }) => store.close()))
    await place.remove()
  }
})
