/**
 * Every fault switch of the simulated Up/Down venue. Whatever happens: rows and gaps together cover each window, every
 * book outside the gaps is the one of its instant, none is crossed, no print is missing or there twice, and every
 * winner is found.
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

const venue = 'polymarket'
const symbol = 'BTC'
const START_MS = Date.parse('2026-11-15T10:00:20Z')
const SECOND_MS = 1_000

const CASES: readonly FaultCase[] = [
  {
    name: 'duplicate',
    faults: [{ kind: 'duplicate', venue, durationMs: 20_000 }],
    lastsMs: 25_000,
    gap: false,
  },
  { name: 'reorder', faults: [{ kind: 'reorder', venue, durationMs: 20_000 }], lastsMs: 30_000 },
  { name: 'drop', faults: [{ kind: 'drop', venue, durationMs: 15_000 }], lastsMs: 35_000, gap: true },
  { name: 'mute', faults: [{ kind: 'mute', venue, symbol, durationMs: 20_000 }], lastsMs: 40_000, gap: true },
  { name: 'hang', faults: [{ kind: 'hang', venue, durationMs: 40_000 }], lastsMs: 70_000, gap: true },
  { name: 'skip', faults: [{ kind: 'mute', venue, channel: 'price_change', count: 3 }], lastsMs: 40_000 },
  { name: 'malformed', faults: [{ kind: 'malformed', venue, count: 3 }], lastsMs: 30_000 },
  {
    name: 'frozen-book',
    faults: [{ kind: 'frozen-book', venue, symbol, durationMs: 60_000 }],
    lastsMs: 80_000,
    gap: true,
  },
  { name: 'crossed-book', faults: [{ kind: 'crossed-book', venue, symbol, count: 2 }], lastsMs: 25_000 },
  { name: 'skew', faults: [{ kind: 'skew', venue, durationMs: 20_000, offsetMs: 1_500 }], lastsMs: 30_000 },
  {
    name: 'rate-limit',
    faults: [{ kind: 'rate-limit', venue, durationMs: 30_000, retryAfterS: 5 }],
    lastsMs: 40_000,
    gap: false,
  },
  {
    name: 'http-error',
    faults: [{ kind: 'http-error', venue, durationMs: 30_000, status: 503 }],
    lastsMs: 40_000,
    gap: false,
  },
  {
    name: 'REST: hang, reset and broken bodies',
    faults: [
      { kind: 'hang', venue, channel: 'gamma', durationMs: 20_000 },
      { kind: 'drop', venue, channel: 'clob', durationMs: 20_000 },
      { kind: 'malformed', venue, channel: 'data', durationMs: 20_000 },
    ],
    lastsMs: 35_000,
    gap: false,
  },
  {
    name: 'late and unannounced resolution',
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
    slotMs: 1_000,
    cases: CASES,
    settleMs: 6 * 60_000,
  })
  markets = marketsOf(run, venue)
})
after(() => run?.close())

test('rows and gaps cover every window; outside the gaps each book is the one of its instant', async () => {
  const { wrong, rows } = await findFaultyBooks(run, markets)
  assert.deepEqual(wrong.slice(0, 10), [])
  assert.ok(rows > 500, `${rows} rows`)
})

test('prints are those of the venue, each once, whatever the stream lost', async () => {
  const { wrong, prints } = await findFaultyPrints(run, markets)
  assert.deepEqual(wrong.slice(0, 10), [])
  assert.ok(prints > 50, `${prints} prints`)
})

for (const { name, gap, lastsMs } of CASES) {
  if (gap === undefined) continue
  test(`${name}: the books have ${gap ? 'a gap that ends' : 'no gap'}`, async () => {
    const fromMs = run.begun(name)
    const toMs = fromMs + lastsMs - SECOND_MS
    const feed = feedOf('snapshots', 'predmkt_a', symbol, '15m')
    // What the next fault does reaches back to the last proof that a book was right.
    const gaps = (await gapsOf(run, feed, fromMs, toMs)).filter(({ to }) => to < toMs || gap)
    assert.equal(gaps.length > 0, gap, JSON.stringify(gaps))
    assert.ok(
      gaps.every(({ to }) => to < toMs),
      `it is still open: ${JSON.stringify(gaps)}`,
    )
  })
}

test('every winner is known, announced or not, in time or late', async () => {
  const ended = markets.filter(({ endMs }) => endMs < run.range.toMs + 3 * 60_000)
  assert.ok(ended.length >= 2, `${ended.length} markets`)
  for (const market of ended) assert.deepEqual(await compareCatalogue(run.recording.store, market), [])
})

test('no closed row was rewritten', () => {
  for (const { detail } of run.recording.supervisor.status()) assert.equal(detail.counts.refused, 0)
})
