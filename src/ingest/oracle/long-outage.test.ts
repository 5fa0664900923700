/**
 * The longest outage that is requested has five times more rounds than are held, and still every candle of it is built.
 */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { storesIn } from '../../../test/fakes/stores.ts'
import { readRows } from '../../../test/predictions/compare.ts'
import { pacedClock } from '../../../test/predictions/paced-clock.ts'
import { HEARTBEAT_MS, startPredictionsWorld } from '../../../test/predictions/recording.ts'
import { openVenue } from '../../app/open-venue.ts'
import { sandboxPredictions } from '../../app/sandbox-venues.ts'
import { buildOracleCandles, type OracleUpdate } from '../../core/oracle-candles.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import type { Clock } from '../../kit/clock.ts'
import { createLogger } from '../../kit/log.ts'
import type { OracleRoundObservation } from '../../venues/observation.ts'
import type { HistoryPage, HistoryRange, Venue } from '../../venues/venue.ts'
import { candleFeed } from '../shared/feeds.ts'
import { recordOracle } from './record-oracle.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const START_MS = Date.parse('2026-11-15T10:01:00Z')
const BACK_MS = 31 * DAY_MS
const FROM_MS = Math.floor((START_MS - BACK_MS) / (15 * MINUTE_MS)) * 15 * MINUTE_MS
const TO_MS = Date.parse('2026-11-15T10:00:00Z')
const FEED = candleFeed('oracle', 'BTC', '5m')
const PAGE_ROUNDS = 100
/** A range early in the outage. */
const DISPUTED = { fromMs: FROM_MS + DAY_MS + 130_000, toMs: FROM_MS + DAY_MS + 190_000 }

/** One round per heartbeat, up to the start. */
const ROUNDS: OracleUpdate[] = []
for (let updatedMs = FROM_MS - 5 * HEARTBEAT_MS; updatedMs < START_MS; updatedMs += HEARTBEAT_MS)
  ROUNDS.push({
    updatedMs,
    roundId: BigInt(ROUNDS.length + 1),
    price: String(60_000 + ((ROUNDS.length * 7) % 997)),
  })

/** The venue with a month of rounds before the start; later rounds are its own. */
function withMonth(venue: Venue, clock: Clock, isDisputed: () => boolean): Venue & { asked: HistoryRange[] } {
  const asked: HistoryRange[] = []
  async function* history(...about: Parameters<Venue['history']>): AsyncGenerator<HistoryPage> {
    const [{ range }] = about
    asked.push(range)
    if (range.fromMs >= START_MS - 5 * MINUTE_MS) {
      for await (const own of venue.history(...about))
        yield { ...own, observations: own.observations.filter(({ venueTimeMs }) => venueTimeMs >= START_MS) }
      return
    }
    const wanted = ROUNDS.filter((each) => each.updatedMs >= range.fromMs && each.updatedMs < range.toMs)
    let fromMs = range.fromMs
    for (let at = 0; at < wanted.length; at += PAGE_ROUNDS) {
      // The request takes a while, during which rounds are received.
      if (at % (100 * PAGE_ROUNDS) === 0) await clock.sleep(3_000)
      const rounds = wanted.slice(at, at + PAGE_ROUNDS)
      const isLast = at + PAGE_ROUNDS >= wanted.length
      const toMs = isLast ? range.toMs : (rounds.at(-1)?.updatedMs ?? 0)
      const { fromMs: lostMs, toMs: foundMs } = DISPUTED
      if (isDisputed() && fromMs < foundMs && toMs > lostMs) {
        const found = rounds.filter((each) => each.updatedMs < lostMs || each.updatedMs >= foundMs)
        yield page(found, fromMs, Math.max(fromMs, lostMs))
        if (toMs > foundMs) yield page([], foundMs, toMs)
      } else yield page(rounds, fromMs, toMs)
      fromMs = toMs
    }
  }
  return { ...venue, history, asked }
}

const page = (rounds: readonly OracleUpdate[], fromMs: number, toMs: number): HistoryPage => ({
  observations: rounds.map(
    (round): OracleRoundObservation => ({
      ...round,
      kind: 'oracle_round',
      source: 'oracle',
      symbol: 'BTC',
      instrument: '',
      venueTimeMs: round.updatedMs,
      receivedMs: round.updatedMs,
      key: String(round.roundId),
    }),
  ),
  covered: toMs > fromMs ? { fromMs, toMs } : null,
  missing: [],
})

async function startRecording(t: TestContext, isDisputed: () => boolean) {
  const world = await startPredictionsWorld(pacedClock(START_MS, 1_000), { slotMs: 60_000 })
  const { clock, sandbox, close } = world
  t.after(close)
  const setting = sandboxPredictions(sandbox).find(({ name }) => name === 'chainlink')
  assert.ok(setting)
  const store = await storesIn(':memory:', clock).environment('test')
  t.after(() => store.close())
  const venue = withMonth(openVenue(setting, clock), clock, isDisputed)
  const recorder = recordOracle({
    venue,
    heartbeatMs: HEARTBEAT_MS,
    store,
    random: Math.random,
    clock,
    log: createLogger({ level: 'silent' }),
    symbols: ['BTC'],
    backMs: BACK_MS,
  })
  // The first answer comes a little after the start, so that the time in between is requested too.
  sandbox.faults.set({ kind: 'drop', venue: 'ethereum', durationMs: 5_000 })
  const stop = new AbortController()
  const running = recorder.run(stop.signal)
  return {
    clock,
    store,
    asked: venue.asked,
    stop: () => {
      stop.abort()
      return clock.during(running)
    },
  }
}

async function assertComplete({ store }: Awaited<ReturnType<typeof startRecording>>): Promise<void> {
  const { gaps } = await store.coverage.read([FEED], FROM_MS, TO_MS)
  assert.deepEqual(gaps.slice(0, 3), [])
  for (const interval of ['5m', '15m'] as const) {
    const rows = await readRows<CandleRow>(store, candleFeed('oracle', 'BTC', interval), [''], {
      from: FROM_MS,
      to: TO_MS,
    })
    const expected = buildOracleCandles({
      interval,
      updates: ROUNDS,
      fromMs: FROM_MS,
      toMs: TO_MS,
      heartbeatMs: HEARTBEAT_MS,
    })
    const own = rows.map((row) => [
      Date.parse(row.timestamp),
      row.open,
      row.high,
      row.low,
      row.close,
      row.closed,
    ])
    const truth = expected.map((candle) => [
      candle.openTimeMs,
      ...[candle.open, candle.high, candle.low, candle.close].map(Number),
      true,
    ])
    assert.equal(own.length, truth.length)
    assert.deepEqual(own.filter((row, index) => String(row) !== String(truth[index])).slice(0, 3), [])
  }
}

test('after an outage of 31 days each candle of it is closed with its rounds', async (t) => {
  const recording = await startRecording(t, () => false)
  await recording.clock.runUntil(START_MS + MINUTE_MS)
  await recording.stop()
  assert.ok(ROUNDS.length > 99_000)
  await assertComplete(recording)
  const walks = recording.asked.filter(({ fromMs }) => fromMs < FROM_MS)
  assert.equal(walks.length, 1, 'one walk brings them all')
})

test('a dispute early in the outage holds the walk back; once the nodes agree it goes on where it was', async (t) => {
  let isDisputed = true
  const recording = await startRecording(t, () => isDisputed)
  const { clock, store } = recording
  await clock.runUntil(START_MS + MINUTE_MS)
  const before = (await store.series.finality([FEED]))[0]?.before ?? 0
  isDisputed = false
  await clock.runUntil(START_MS + 2 * MINUTE_MS)
  await recording.stop()
  assert.ok(before <= DISPUTED.fromMs && before > DISPUTED.fromMs - 10 * MINUTE_MS, `closed to ${before}`)
  await assertComplete(recording)
})
