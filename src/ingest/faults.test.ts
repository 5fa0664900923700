/**
 * Every fault switch of the simulated exchanges, over real sockets with a fast clock. Whatever happens: what is
 * stored plus the recorded gaps is exactly what happened; nothing is lost without a gap, nothing is there twice, no
 * wrong book is sampled. What the venue can tell again has no gap left in the end.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { compareAll, readGaps } from '../../test/ingest/compare.ts'
import {
  type Recording,
  type SandboxVenue,
  startRecording,
  startWorld,
  until,
  type World,
} from '../../test/ingest/recording.ts'
import type { FaultSpec } from '../sandbox/exchanges/server/faults.ts'
import { COARSE_INTERVALS, candleFeed, feedOf } from './plans.ts'

const MINUTE_MS = 60_000
const isLong = process.env.TAPELINE_SOAK !== undefined
const FACTOR = isLong ? 10 : 30

/** Minute → what goes wrong in it, from its tenth second on. */
const TIMELINE: readonly FaultSpec[][] = [
  [
    { kind: 'drop', venue: 'spot', durationMs: 15_000 },
    { kind: 'mute', venue: 'futures', symbol: 'BTC', durationMs: 25_000 },
    { kind: 'skip', venue: 'perp', channel: 'trades', count: 3 },
  ],
  [
    { kind: 'mute', venue: 'spot', symbol: 'BTC', durationMs: 20_000 },
    { kind: 'hang', venue: 'futures', durationMs: 40_000 },
    { kind: 'drop', venue: 'perp', durationMs: 10_000 },
  ],
  [
    { kind: 'reorder', venue: 'spot', durationMs: 20_000 },
    { kind: 'missing-close', venue: 'spot', durationMs: MINUTE_MS },
    { kind: 'duplicate', venue: 'futures', durationMs: 20_000 },
    { kind: 'late-close', venue: 'futures', durationMs: MINUTE_MS, delayMs: 5_000 },
    { kind: 'mute', venue: 'perp', symbol: 'BTC', durationMs: 20_000 },
  ],
  [
    { kind: 'skip', venue: 'spot', channel: 'aggTrade', count: 5 },
    { kind: 'rate-limit', venue: 'spot', durationMs: 10_000, retryAfterS: 5 },
    { kind: 'reorder', venue: 'futures', durationMs: 20_000 },
    { kind: 'ban', venue: 'futures', durationMs: 15_000, retryAfterS: 15 },
    { kind: 'duplicate', venue: 'perp', durationMs: 20_000 },
    { kind: 'http-error', venue: 'perp', durationMs: 15_000, status: 503 },
  ],
  [
    { kind: 'malformed', venue: 'spot', count: 4 },
    { kind: 'skew', venue: 'futures', durationMs: 20_000, offsetMs: 1_500 },
    { kind: 'malformed', venue: 'perp', count: 3 },
    { kind: 'hang', venue: 'perp', durationMs: 30_000 },
  ],
]

const sum = (values: number[]) => values.reduce((a, b) => a + b, 0)

const begun = new Map<FaultSpec, number>()

let world: World
let recording: Recording
let range = { fromMs: 0, toMs: 0 }

before(async () => {
  world = await startWorld({ factor: FACTOR })
  recording = await startRecording(world, {
    longestSilenceMs: {
      klines: 8_000,
      aggregate_trades: 8_000,
      trades: 8_000,
      best_bid_ask: 8_000,
      book_fast: 8_000,
      book: 15_000,
      open_interest: 8_000,
    },
  })
  const firstMs = Math.ceil((world.startMs + 20_000) / MINUTE_MS) * MINUTE_MS
  for (const [minute, faults] of TIMELINE.entries()) {
    await until(world.clock, firstMs + minute * MINUTE_MS + 10_000)
    // On a busy machine a fault begins later than planned, so its own beginning counts.
    for (const fault of faults) begun.set(fault, world.sandbox.faults.set(fault).startedAtMs)
  }
  range = { fromMs: firstMs, toMs: firstMs + (TIMELINE.length + 1) * MINUTE_MS }
  await until(world.clock, range.toMs + 50_000)
  await recording.stop()
})

after(async () => {
  await recording.close()
  await world.close()
})

for (const venue of ['spot', 'futures', 'perp'] as const satisfies SandboxVenue[]) {
  test(`${venue}: rows and gaps together are exactly what happened`, async () => {
    const subject = {
      store: recording.store,
      truth: world.sandbox.truth,
      venue,
      symbol: 'BTC',
      range,
    } as const
    assert.deepEqual(await compareAll(subject), [])
  })
}

test('what a venue can tell again has no gap: candles, seconds of numbered trades, flow', async () => {
  const feeds = [
    ...(['cexa', 'cexa_futures', 'perpdex'] as const).flatMap((source) =>
      (['1m', ...COARSE_INTERVALS] as const).map((interval) => candleFeed(source, 'BTC', interval)),
    ),
    candleFeed('cexa', 'BTC', '1s'),
    candleFeed('cexa_futures', 'BTC', '1s'),
    ...COARSE_INTERVALS.map((interval) => feedOf('flow', 'cexa', 'BTC', interval)),
  ]
  for (const feed of feeds)
    assert.deepEqual(await readGaps(recording.store, feed, range), [], JSON.stringify(feed))
})

test('trades without numbers: the count of the venue shows the minute in which some were lost', async () => {
  const first = { fromMs: range.fromMs, toMs: range.fromMs + MINUTE_MS }
  const gaps = await readGaps(recording.store, feedOf('trades', 'perpdex', 'BTC'), first)
  assert.equal(gaps[0]?.from, first.fromMs)
  assert.equal(gaps.at(-1)?.to, first.toMs)
  assert.equal(sum(gaps.map((gap) => gap.to - gap.from)), MINUTE_MS, JSON.stringify(gaps))
})

test('a lost line is a gap of the venue, a silence one of ours', async () => {
  const reasons = async (minute: number) => {
    const fromMs = range.fromMs + minute * MINUTE_MS
    const gaps = await readGaps(recording.store, feedOf('snapshots', 'perpdex', 'BTC'), {
      fromMs,
      toMs: fromMs + MINUTE_MS,
    })
    return [...new Set(gaps.map((gap) => gap.reason))]
  }
  assert.ok((await reasons(1)).includes('venue_down'))
  assert.ok((await reasons(2)).includes('not_observed'))
})

test('a muted symbol shows exactly the muted stretch, its source and its reason', async () => {
  const mutes = [
    { venue: 'futures', feed: feedOf('ticker', 'cexa_futures', 'BTC') },
    { venue: 'futures', feed: feedOf('liquidations', 'cexa_futures', 'BTC') },
    { venue: 'spot', feed: feedOf('ticker', 'cexa', 'BTC') },
    { venue: 'perp', feed: feedOf('snapshots', 'perpdex', 'BTC') },
    { venue: 'perp', feed: feedOf('trades', 'perpdex', 'BTC') },
  ]
  for (const { venue, feed } of mutes) {
    const mute = TIMELINE.flat().find((fault) => fault.kind === 'mute' && fault.venue === venue)
    assert.ok(mute !== undefined)
    const mutedMs = begun.get(mute) ?? 0
    const heardMs = mutedMs + (mute.durationMs ?? 0)
    const gaps = await readGaps(recording.store, feed, range)
    // The clock runs so fast that a moment of the machine is seconds of the market.
    const gap = gaps.find((each) => each.from < mutedMs + 5_000 && each.to > mutedMs + 5_000)
    assert.ok(gap !== undefined, `${JSON.stringify(feed)}: ${JSON.stringify(gaps)}`)
    assert.equal(gap.source, feed.source)
    assert.equal(gap.reason, 'not_observed')
    assert.ok(
      gap.from > mutedMs - 5_000 && gap.from <= mutedMs + 1_500,
      `begins ${gap.from - mutedMs} ms off`,
    )
    assert.ok(gap.to >= heardMs - 500 && gap.to < heardMs + 8_000, `ends ${gap.to - heardMs} ms off`)
  }
})

test('no closed row was ever rewritten', () => {
  for (const { detail } of recording.supervisor.status())
    assert.deepEqual([detail.name, detail.counts.corrected, detail.counts.refused], [detail.name, 0, 0])
})
