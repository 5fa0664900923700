/**
 * Polled trades count as observed up to the last answer that covers them, whenever and for however long requests fail.
 * What counts as observed must already be stored at that moment, not only in the end.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pacedClock } from '../../../test/predictions/paced-clock.ts'
import {
  FEW_STRIKES,
  type PredictionsRecording,
  type PredictionsWorld,
  startPredictionsRecording,
  startPredictionsWorld,
} from '../../../test/predictions/recording.ts'
import { seededRandom } from '../../../test/seeded-random.ts'
import { scanRows } from '../../store/scan-rows.ts'
import { feedOf } from '../shared/feeds.ts'

/** Fifteen-minute contracts close at 10:15 and 10:30, between two lists. */
const START_MS = Date.parse('2026-11-15T10:12:00Z')
const OUTAGES = process.env.TAPELINE_SOAK === undefined ? 2 : 40
const CHECK_EVERY_MS = 5_000
const TRADES = feedOf('trades', 'predmkt_b', 'BTC')

/** Trades that are not stored although their time counts as observed. */
async function unstored({ sandbox }: PredictionsWorld, { store }: PredictionsRecording, nowMs: number) {
  const { observed } = await store.coverage.read([TRADES], START_MS, nowMs)
  const stored = new Set<string>()
  const range = { from: START_MS - 1, to: nowMs }
  for await (const { trade_id } of scanRows(store.series, TRADES, range)) stored.add(trade_id)
  const lacking = sandbox.truth
    .markets('kalshi', START_MS, nowMs + 86_400_000)
    .filter(({ symbol }) => symbol === 'BTC')
    .flatMap(({ name }) =>
      observed
        .flatMap(({ from, to }) => sandbox.truth.trades(name, from, to) ?? [])
        .filter(({ id }) => !stored.has(id)),
    )
  return { lacking, observed, stored: stored.size }
}

test('no time without an answer counts as observed, and every trade of observed time is stored', async (t) => {
  const random = seededRandom(t)
  const clock = pacedClock(START_MS, 1_000)
  const world = await startPredictionsWorld(clock, { slotMs: 2_000, ...FEW_STRIKES })
  t.after(() => world.close())
  const recording = await startPredictionsRecording(world, {
    ...{ venues: ['kalshi'], symbols: ['BTC'], hasKey: false },
  })
  t.after(() => clock.during(recording.close()))
  let stored = 0

  async function check(toMs: number, failingSinceMs?: number): Promise<void> {
    while (clock.now() < toMs) {
      await clock.runUntil(Math.min(toMs, clock.now() + CHECK_EVERY_MS))
      const found = await unstored(world, recording, clock.now())
      const at = `${clock.now() - START_MS} ms after the start, failing since ${(failingSinceMs ?? Number.NaN) - START_MS}`
      const toObservedMs = found.observed.at(-1)?.to ?? 0
      assert.ok(
        toObservedMs <= (failingSinceMs ?? clock.now()),
        `${at}: observed to ${toObservedMs - START_MS}`,
      )
      assert.deepEqual(found.lacking.slice(0, 3), [], at)
      stored = found.stored
    }
  }

  for (let i = 0; i < OUTAGES; i++) {
    await check(clock.now() + random.int(10_000, 100_000))
    const durationMs = random.int(2_000, 90_000)
    const failingSinceMs = clock.now()
    world.sandbox.faults.set({ kind: 'http-error', venue: 'kalshi', status: 503, durationMs })
    await check(failingSinceMs + durationMs - 1_000, failingSinceMs)
  }
  await check(clock.now() + 210_000)
  assert.ok(stored > 30, `${stored} trades`)
  const { observed } = await recording.store.coverage.read([TRADES], START_MS, clock.now() - 120_000)
  assert.equal(observed.length, 1, `backfilled in the end: ${JSON.stringify(observed)}`)
})
