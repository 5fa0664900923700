/**
 * Every fault switch of the simulated venue of yes/no contracts. Whatever happens: rows and gaps together cover each
 * contract, every book outside the gaps is the one of its instant, none is crossed, no trade is missing or there
 * twice, and every result is found.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { compareCatalogue } from '../../test/predictions/compare.ts'
import {
  type FaultCase,
  type FaultRun,
  findFaultyBooks,
  findFaultyPrints,
  gapsOf,
  marketsOf,
  runFaults,
} from '../../test/predictions/fault-run.ts'
import type { TrueMarket } from '../sandbox/predictions/truth.ts'
import { feedOf } from './plans.ts'

const venue = 'kalshi'
const symbol = 'BTC'
/** A contract of a quarter of an hour ends under way. */
const START_MS = Date.parse('2026-11-15T10:05:20Z')

const CASES: readonly FaultCase[] = [
  {
    name: 'duplicate',
    faults: [{ kind: 'duplicate', venue, durationMs: 20_000 }],
    lastsMs: 30_000,
    gap: false,
  },
  { name: 'reorder', faults: [{ kind: 'reorder', venue, durationMs: 15_000 }], lastsMs: 45_000, gap: true },
  { name: 'drop', faults: [{ kind: 'drop', venue, durationMs: 15_000 }], lastsMs: 45_000, gap: true },
  { name: 'mute', faults: [{ kind: 'mute', venue, symbol, durationMs: 20_000 }], lastsMs: 75_000, gap: true },
  { name: 'hang', faults: [{ kind: 'hang', venue, durationMs: 40_000 }], lastsMs: 110_000, gap: true },
  { name: 'malformed', faults: [{ kind: 'malformed', venue, count: 2 }], lastsMs: 40_000 },
  { name: 'sequence-gap', faults: [{ kind: 'sequence-gap', venue, count: 2 }], lastsMs: 75_000 },
  {
    name: 'frozen-book',
    faults: [{ kind: 'frozen-book', venue, symbol, durationMs: 80_000 }],
    lastsMs: 120_000,
    gap: true,
  },
  { name: 'crossed-book', faults: [{ kind: 'crossed-book', venue, symbol }], lastsMs: 40_000 },
  { name: 'skew', faults: [{ kind: 'skew', venue, durationMs: 20_000, offsetMs: 1_500 }], lastsMs: 40_000 },
  {
    name: 'rate-limit',
    faults: [{ kind: 'rate-limit', venue, durationMs: 20_000 }],
    lastsMs: 30_000,
    gap: false,
  },
  {
    name: 'http-error',
    faults: [{ kind: 'http-error', venue, durationMs: 20_000, status: 502 }],
    lastsMs: 30_000,
    gap: false,
  },
  {
    name: 'REST: reset and broken bodies',
    faults: [
      { kind: 'drop', venue, channel: 'rest', durationMs: 10_000 },
      { kind: 'malformed', venue, channel: 'rest', durationMs: 20_000 },
    ],
    lastsMs: 30_000,
    gap: false,
  },
  {
    name: 'late and unannounced results',
    faults: [
      { kind: 'late-resolution', venue, delayMs: 45_000, durationMs: 400_000 },
      { kind: 'lost-resolved', venue, durationMs: 400_000 },
    ],
    lastsMs: 20_000,
    gap: false,
  },
]

let run: FaultRun
let markets: TrueMarket[]

before(async () => {
  run = await runFaults({
    venues: [venue],
    startMs: START_MS,
    stepMs: 500,
    slotMs: 2_000,
    cases: CASES,
    settleMs: 4 * 60_000,
  })
  markets = marketsOf(run, venue)
})
after(() => run?.close())

test('rows and gaps cover every contract; outside the gaps each book is the one of its instant', async () => {
  const { wrong, rows } = await findFaultyBooks(run, markets)
  assert.deepEqual(wrong.slice(0, 10), [])
  assert.ok(markets.length > 165 && rows > 2_500, `${markets.length} contracts, ${rows} rows`)
})

test('trades are those of the venue, each once, whatever the stream lost', async () => {
  const { wrong, prints } = await findFaultyPrints(run, markets)
  assert.deepEqual(wrong.slice(0, 10), [])
  assert.ok(prints > 100, `${prints} prints`)
})

for (const { name, gap, lastsMs } of CASES) {
  if (gap === undefined) continue
  test(`${name}: the books have ${gap ? 'a gap that ends' : 'no gap'}`, async () => {
    const fromMs = run.begun(name)
    const toMs = fromMs + lastsMs - 5_000
    const gaps = await gapsOf(run, feedOf('snapshots', 'predmkt_b', symbol, '15m'), fromMs, toMs)
    assert.equal(gaps.length > 0, gap, JSON.stringify(gaps))
    assert.ok(
      gaps.every(({ to }) => to < toMs),
      `it is still open: ${JSON.stringify(gaps)}`,
    )
  })
}

test('every result is known, announced or not, in time or late', async () => {
  const ended = markets.filter(({ endMs }) => endMs < run.range.toMs)
  assert.ok(ended.length >= 1, `${ended.length} contracts`)
  for (const market of ended) assert.deepEqual(await compareCatalogue(run.recording.store, market), [])
})

test('no closed row was rewritten', () => {
  for (const { detail } of run.recording.supervisor.status()) assert.equal(detail.counts.refused, 0)
})
