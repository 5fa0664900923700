/**
 * Every fault switch of the simulated chain. In every case each ended candle is the one of the true rounds or lies in a
 * gap, no candle is stored twice or built from a false answer, and candles continue afterwards.
 */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { readRows } from '../../../test/predictions/compare.ts'
import { type FaultCase, type FaultRun, gapsOf, runFaults } from '../../../test/predictions/fault-run.ts'
import { HEARTBEAT_MS } from '../../../test/predictions/recording.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import { answerText, buildOracleCandles } from '../../core/oracle-candles.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import { candleFeed } from '../shared/feeds.ts'

const venue = 'ethereum'
const MINUTE_MS = 60_000
const START_MS = Date.parse('2026-11-15T10:00:20Z')

const CASES: readonly FaultCase[] = [
  {
    name: 'one node lies',
    faults: [{ kind: 'lying-provider', venue, provider: 1, durationMs: 4 * MINUTE_MS }],
    lastsMs: 5 * MINUTE_MS,
    gap: false,
  },
  {
    name: 'one node is behind',
    faults: [{ kind: 'chain-halt', venue, provider: 0, durationMs: 3 * MINUTE_MS }],
    lastsMs: 5 * MINUTE_MS,
    gap: false,
  },
  {
    name: 'one node does not answer, another breaks off',
    faults: [
      { kind: 'hang', venue, provider: 2, durationMs: MINUTE_MS },
      { kind: 'malformed', venue, provider: 1, count: 1 },
    ],
    lastsMs: 5 * MINUTE_MS,
    gap: false,
  },
  {
    name: 'all nodes reset the connection',
    faults: [{ kind: 'drop', venue, durationMs: 90_000 }],
    lastsMs: 5 * MINUTE_MS,
    gap: false,
  },
  {
    name: 'all nodes refuse with 429',
    faults: [{ kind: 'rate-limit', venue, durationMs: 90_000, retryAfterS: 5 }],
    lastsMs: 5 * MINUTE_MS,
    gap: false,
  },
  {
    name: 'all nodes fail',
    faults: [{ kind: 'http-error', venue, durationMs: 90_000, status: 503 }],
    lastsMs: 5 * MINUTE_MS,
    gap: false,
  },
  {
    name: 'all nodes break off',
    faults: [{ kind: 'malformed', venue, durationMs: 90_000 }],
    lastsMs: 5 * MINUTE_MS,
    gap: false,
  },
  {
    name: 'the clock of the chain is ahead',
    faults: [{ kind: 'skew', venue, durationMs: MINUTE_MS, offsetMs: 1_500 }],
    lastsMs: 5 * MINUTE_MS,
    gap: false,
  },
  {
    name: 'the chain has halted',
    faults: [{ kind: 'chain-halt', venue, durationMs: 12 * MINUTE_MS }],
    lastsMs: 20 * MINUTE_MS,
    gap: true,
  },
]

let run: FaultRun

before(async () => {
  run = await runFaults({
    venues: ['chainlink'],
    startMs: START_MS,
    stepMs: 1_000,
    slotMs: 60_000,
    cases: CASES,
    settleMs: 6 * MINUTE_MS,
    oracleBackMs: 10 * MINUTE_MS,
  })
})
after(() => run?.close())

for (const interval of ['5m', '15m'] as const) {
  test(`${interval}: candles and gaps cover the whole time, each candle is the one of the true rounds, once`, async () => {
    const lengthMs = INTERVAL_MS[interval]
    const fromMs = Math.ceil(run.range.fromMs / lengthMs) * lengthMs
    const toMs = Math.floor(run.range.toMs / lengthMs) * lengthMs
    const feed = candleFeed('oracle', 'BTC', interval)
    const rows = await readRows<CandleRow>(run.recording.store, feed, [''], { from: fromMs, to: toMs })
    const gaps = await gapsOf(run, feed, fromMs, toMs)
    const haltedMs = run.begun('the chain has halted')
    const updates = run.world.sandbox.truth
      .rounds('BTC', fromMs - 3_600_000, toMs)
      .map((round) => ({
        roundId: BigInt(round.id),
        updatedMs: round.updatedAtS * 1_000,
        price: answerText(BigInt(round.answer), 8),
      }))
      // A halted chain has no rounds.
      .filter(({ updatedMs: at }) => at <= haltedMs || at >= haltedMs + 12 * MINUTE_MS)
    const expected = buildOracleCandles({ interval, updates, fromMs, toMs, heartbeatMs: HEARTBEAT_MS })
    const real = new Map(expected.map((candle) => [candle.openTimeMs, candle]))
    const wrong: string[] = []
    for (let atMs = fromMs; atMs < toMs; atMs += lengthMs) {
      const at = new Date(atMs).toISOString()
      const found = rows.filter(({ timestamp }) => Date.parse(timestamp) === atMs)
      const isGap = gaps.some((gap) => gap.from <= atMs && gap.to >= atMs + lengthMs)
      const candle = real.get(atMs)
      if (found.length > 1) wrong.push(`${at}: twice`)
      if (candle === undefined ? found.length > 0 || !isGap : found.length !== 1) {
        wrong.push(
          `${at}: ${found.length} rows, ${isGap ? 'a gap' : 'no gap'}, ${candle === undefined ? 'no' : 'a'} candle`,
        )
        continue
      }
      const [row] = found
      if (row === undefined || candle === undefined) continue
      const own = [row.open, row.high, row.low, row.close, row.volume, row.closed].join()
      const truth = [...[candle.open, candle.high, candle.low, candle.close].map(Number), null, true].join()
      if (own !== truth) wrong.push(`${at}: ${own}, but ${truth}`)
    }
    assert.deepEqual(wrong, [])
    assert.ok(rows.length >= (toMs - fromMs) / lengthMs - 5, `${rows.length} rows`)
  })
}

for (const { name, gap, lastsMs } of CASES) {
  test(`${name}: ${gap ? 'the candles without an answer are a gap of the venue' : 'everything is requested again, no gap is left'}`, async () => {
    const fromMs = run.begun(name)
    const gaps = await gapsOf(run, candleFeed('oracle', 'BTC', '5m'), fromMs, fromMs + lastsMs)
    assert.deepEqual(
      [...new Set(gaps.map(({ reason }) => reason))],
      gap ? ['venue_down'] : [],
      JSON.stringify(gaps),
    )
  })
}
