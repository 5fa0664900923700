/**
 * Every fault switch of the simulated exchanges, over real sockets with a fast clock. Whatever happens: what is
 * stored plus the recorded gaps is exactly what happened; nothing is lost without a gap, nothing is there twice, no
 * wrong book is sampled. What the venue can tell again has no gap left in the end.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { compareAll, readGaps, readRows } from '../../test/ingest/compare.ts'
import {
  EXCHANGES,
  type Recording,
  type SandboxVenue,
  startRecording,
  startWorld,
  until,
  type World,
} from '../../test/ingest/recording.ts'
import { feedName } from '../core/feed.ts'
import type { Source } from '../core/source.ts'
import type { FaultSpec } from '../sandbox/exchanges/server/faults.ts'
import { COARSE_INTERVALS, candleFeed, feedOf } from './plans.ts'

const MINUTE_MS = 60_000
const isLong = process.env.TAPELINE_SOAK !== undefined
const FACTOR = isLong ? 10 : 30
const SILENCE_MS = 8_000
/** What a moment of the machine is on a clock that runs this fast. */
const SLACK_MS = 50 * FACTOR

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

const begun = new Map<FaultSpec, number>()
/** When sources were seen with a channel down. */
const troubled = new Map<Source, number[]>()

function muteOf(venue: SandboxVenue): { mutedMs: number; heardMs: number } {
  const mute = TIMELINE.flat().find((fault) => fault.kind === 'mute' && fault.venue === venue)
  assert.ok(mute !== undefined)
  const mutedMs = begun.get(mute) ?? 0
  return { mutedMs, heardMs: mutedMs + (mute.durationMs ?? 0) }
}

async function watchTrouble(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const { source, detail } of recording.supervisor.status()) {
      if (detail.channelsUp === detail.channels) continue
      troubled.set(source, [...(troubled.get(source) ?? []), world.clock.now()])
    }
    await world.clock.sleep(250)
  }
}

let world: World
let recording: Recording
let range = { fromMs: 0, toMs: 0 }

before(async () => {
  world = await startWorld({ factor: FACTOR })
  recording = await startRecording(world, {
    longestSilenceMs: {
      klines: SILENCE_MS,
      aggregate_trades: SILENCE_MS,
      trades: SILENCE_MS,
      best_bid_ask: SILENCE_MS,
      book_fast: SILENCE_MS,
      book: 2 * SILENCE_MS,
      open_interest: SILENCE_MS,
    },
  })
  const watching = new AbortController()
  watchTrouble(watching.signal)
  const firstMs = Math.ceil((world.startMs + 20_000) / MINUTE_MS) * MINUTE_MS
  for (const [minute, faults] of TIMELINE.entries()) {
    await until(world.clock, firstMs + minute * MINUTE_MS + 10_000)
    // On a busy machine a fault begins later than planned, so its own beginning counts.
    for (const fault of faults) begun.set(fault, world.sandbox.faults.set(fault).startedAtMs)
  }
  range = { fromMs: firstMs, toMs: firstMs + (TIMELINE.length + 1) * MINUTE_MS }
  await until(world.clock, range.toMs + 50_000)
  watching.abort()
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
  assert.deepEqual(gaps, [{ source: 'perpdex', from: first.fromMs, to: first.toMs, reason: 'not_observed' }])
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
  assert.deepEqual(await reasons(1), ['venue_down'])
  assert.deepEqual(await reasons(2), ['not_observed'])
  assert.deepEqual(await reasons(3), [])
})

test('a muted symbol shows exactly the muted stretch, its source and its reason', async () => {
  const mutes = [
    { venue: 'futures', feed: feedOf('ticker', 'cexa_futures', 'BTC'), everyMs: 1_000 },
    { venue: 'futures', feed: feedOf('liquidations', 'cexa_futures', 'BTC'), everyMs: 1_000 },
    { venue: 'spot', feed: feedOf('ticker', 'cexa', 'BTC'), everyMs: 1_000 },
    { venue: 'perp', feed: feedOf('snapshots', 'perpdex', 'BTC'), everyMs: 540 },
    { venue: 'perp', feed: feedOf('trades', 'perpdex', 'BTC'), everyMs: 2_000 },
  ] as const
  for (const { venue, feed, everyMs } of mutes) {
    const { mutedMs, heardMs } = muteOf(venue)
    const around = { fromMs: mutedMs - 8_000, toMs: heardMs + 8_000 }
    const gaps = await readGaps(recording.store, feed, around)
    const [gap] = gaps
    const name = `${feedName(feed)}: ${JSON.stringify(gaps)}`
    assert.ok(gap !== undefined && gaps.length === 1, name)
    assert.deepEqual([gap.source, gap.reason], [feed.source, 'not_observed'])
    const beginsMs = gap.from - mutedMs
    assert.ok(beginsMs >= -everyMs - SLACK_MS && beginsMs <= SLACK_MS, `${name} begins ${beginsMs} ms off`)
    const endsMs = gap.to - heardMs
    assert.ok(endsMs >= 0 && endsMs <= everyMs + SLACK_MS, `${name} ends ${endsMs} ms off`)
    // To the millisecond: what was heard last lies before the gap, and everything later in it.
    if (feed.dataset !== 'trades') continue
    const rows = await readRows(recording.store, feed, { fromMs: mutedMs - 20_000, toMs: gap.from })
    assert.equal(Date.parse(rows.at(-1)?.timestamp ?? '') + 1, gap.from, name)
  }
})

test('a muted symbol is noticed within two of its expected intervals', () => {
  for (const [venue, { source }] of Object.entries(EXCHANGES) as [SandboxVenue, { source: Source }][]) {
    const { mutedMs } = muteOf(venue)
    const atMs = troubled.get(source)?.find((timeMs) => timeMs >= mutedMs) ?? Number.POSITIVE_INFINITY
    assert.ok(atMs - mutedMs <= 2 * SILENCE_MS, `${venue}: ${atMs - mutedMs} ms`)
  }
})

test('no closed row was ever rewritten', () => {
  for (const { detail } of recording.supervisor.status())
    assert.deepEqual([detail.name, detail.counts.corrected, detail.counts.refused], [detail.name, 0, 0])
})
