/**
 * Every fault switch of the simulated exchanges, over real sockets on a paced clock. Stored rows and recorded gaps
 * together must be exactly what happened: nothing is lost without a gap or stored twice, no wrong book is sampled, and
 * no gap is wider than its fault or has another reason. What can be requested again has no gap left in the end. The
 * long size runs every switch at every venue.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { FaultSpec } from '../../../sandbox/server/faults.ts'
import { compareAll, readGaps, readRows } from '../../../test/ingest/compare.ts'
import {
  EXCHANGES,
  type Recording,
  type SandboxVenue,
  startRecording,
  startWorld,
  type World,
} from '../../../test/ingest/recording.ts'
import { type PacedClock, pacedClock } from '../../../test/predictions/paced-clock.ts'
import { type Feed, feedName } from '../../core/feed.ts'
import type { GapReason } from '../../store/coverage.ts'
import { VENUES } from '../../venues/list.ts'
import { LIQUIDATION_TRANSIT_MS } from '../shared/dispatch-observations.ts'
import { channelsOf, feedOf, trackedFeeds } from '../shared/feeds.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const isLong = process.env.TAPELINE_SOAK !== undefined
/** The clock advances in steps of this length, and waits for everything that happens in a step. */
const STEP_MS = 200
/** The run spans a settlement of both venues, a grid point of open interest and the end of a flow bucket. */
const START_MS = Date.parse('2026-11-10T07:52:30Z')
/** Slow and fast channels share sockets; a renewal because of one must not hide the silence of the other. */
const SILENCE_MS = {
  candles: 12_000,
  aggregate_trades: 12_000,
  trades: 12_000,
  best_bid_ask: 5_000,
  book: 10_000,
  open_interest: 5_000,
} as const
/** Frames and answers arrive in the step in which they are sent, or in the next one. */
const SLACK_MS = 2 * STEP_MS
/** Everything from the perpetual venue arrives this late. */
const LATENCY_MS = 300
const SKEW_MS = 1_500
/** An unreadable frame puts this much time before it in doubt. */
const DAMAGE_MS = 1_000

type Switch = Omit<FaultSpec, 'venue'>

const skipped = (venue: SandboxVenue): Switch => ({
  ...{ kind: 'skip', channel: venue === 'perp' ? 'trades' : 'aggTrade', count: 3 },
})
const SWITCHES = (venue: SandboxVenue): readonly Switch[] => [
  { kind: 'drop', durationMs: 15_000 },
  { kind: 'mute', symbol: 'BTC', durationMs: 25_000 },
  { kind: 'hang', durationMs: 35_000 },
  { kind: 'reorder', durationMs: 20_000 },
  { kind: 'duplicate', durationMs: 20_000 },
  skipped(venue),
  { kind: 'late-close', durationMs: MINUTE_MS, delayMs: 5_000 },
  { kind: 'missing-close', durationMs: MINUTE_MS },
  { kind: 'rate-limit', durationMs: 10_000, retryAfterS: 5 },
  { kind: 'ban', durationMs: 15_000, retryAfterS: 15 },
  { kind: 'skew', durationMs: 20_000, offsetMs: SKEW_MS },
  { kind: 'malformed', count: 4 },
  { kind: 'wrong-time', count: 4, offsetMs: DAY_MS },
  { kind: 'wrong-time', count: 4, offsetMs: -DAY_MS },
]

/** In the usual size each venue runs some of the switches; together the venues run all of them. */
const SOME: Record<SandboxVenue, readonly (readonly Switch['kind'][])[]> = {
  spot: [['drop'], ['mute'], ['reorder', 'missing-close'], ['skip', 'rate-limit'], ['malformed']],
  futures: [['mute'], ['hang'], ['duplicate', 'late-close'], ['reorder', 'ban', 'wrong-time'], ['skew']],
  perp: [['skip'], ['drop'], ['mute'], ['duplicate', 'rate-limit', 'wrong-time'], ['malformed', 'hang']],
}
const VENUE_NAMES = Object.keys(SOME) as SandboxVenue[]

/** For each minute, the faults that start at its tenth second. */
const TIMELINE: readonly FaultSpec<SandboxVenue>[][] = Array.from({ length: isLong ? 12 : 5 }, (_, minute) =>
  VENUE_NAMES.flatMap((venue, index) => {
    const all = SWITCHES(venue)
    const chosen = isLong
      ? all.slice((minute + 4 * index) % all.length).slice(0, 1)
      : all.filter(({ kind }) => SOME[venue][minute]?.includes(kind))
    return chosen.map((each) => ({ ...each, venue }))
  }),
)

interface Begun {
  readonly fault: FaultSpec<SandboxVenue>
  readonly fromMs: number
  /** When the switch ended; for a switch that counts frames, the latest possible end. */
  readonly toMs: number
}

let world: World<PacedClock>
let recording: Recording
let range = { fromMs: 0, toMs: 0 }
const begun: Begun[] = []
/** How many channels of each venue were up, every quarter of a second. */
const polled: { atMs: number; up: Record<string, number> }[] = []

async function watchChannels(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const up = recording.supervisor.status().map(({ source, detail }) => [source, detail.channelsUp])
    polled.push({ atMs: world.clock.now(), up: Object.fromEntries(up) })
    await world.clock.sleep(250)
  }
}

const channelsAt = (venue: SandboxVenue) => channelsOf(VENUES[EXCHANGES[venue].name].plan, 'BTC')
const upAt = (venue: SandboxVenue, isIt: (up: number) => boolean, fromMs: number) =>
  polled.find(({ atMs, up }) => atMs >= fromMs && isIt(up[EXCHANGES[venue].source] ?? 0))?.atMs ??
  Number.POSITIVE_INFINITY

before(async () => {
  world = await startWorld(pacedClock(START_MS, STEP_MS))
  const { clock } = world
  recording = await startRecording(world, { maxSilenceMs: SILENCE_MS })
  const watching = new AbortController()
  watchChannels(watching.signal)
  const isUp = () =>
    recording.supervisor
      .status()
      .every(({ detail }) => detail.channels > 0 && detail.channelsUp === detail.channels)
  do await clock.runUntil(clock.now() + SECOND_MS)
  while (!isUp())
  // A grid point of open interest and the start of a flow bucket.
  const firstMs = Math.ceil((world.clock.now() + 20_000) / (5 * MINUTE_MS)) * 5 * MINUTE_MS
  for (const [minute, faults] of TIMELINE.entries()) {
    await clock.runUntil(firstMs + minute * MINUTE_MS + 10_000)
    // On a busy machine a fault starts later than planned, so its actual start counts.
    for (const fault of faults) {
      const { startedAtMs } = world.sandbox.faults.set(fault)
      begun.push({ fault, fromMs: startedAtMs, toMs: startedAtMs + (fault.durationMs ?? 3_000) })
    }
  }
  range = { fromMs: firstMs, toMs: firstMs + (TIMELINE.length + 1) * MINUTE_MS }
  await clock.runUntil(range.toMs + 50_000)
  watching.abort()
  await clock.during(recording.stop())
})

after(async () => {
  await recording.close()
  await world.close()
})

/** How often the stream behind a feed sends; a gap begins after its last data and ends with its next. */
const EVERY_MS: Partial<Record<Feed['dataset'], number>> = {
  ...{
    ticker: 500,
    liquidations: 2_000,
    trades: 2_000,
    candles: 2_000,
    snapshots: 5_400,
    open_interest: 1_000,
  },
}

/** Feeds whose data a venue never sends again. */
const isLostForGood = (feed: Feed) =>
  ['ticker', 'liquidations', 'trades', 'snapshots'].includes(feed.dataset) ||
  (feed.source === 'perpdex' &&
    (feed.dataset === 'open_interest' || (feed.dataset === 'candles' && feed.interval === '1s')))

interface Window {
  readonly fromMs: number
  readonly toMs: number
  readonly reason: GapReason
  /** Whether a gap is required. */
  readonly isSure: boolean
}

/** The widest gap that a fault may leave in a feed; undefined if it must leave none. */
function windowOf({ fault, fromMs, toMs }: Begun, feed: Feed): Window | undefined {
  if (!isLostForGood(feed)) return undefined
  const { kind, venue } = fault
  const everyMs = EVERY_MS[feed.dataset] ?? 0
  const earlyMs = everyMs + (venue === 'perp' ? LATENCY_MS : 0) + SLACK_MS
  const channels = channelsAt(venue).length
  const againMs = upAt(venue, (up) => up === channels, toMs) + everyMs + SLACK_MS
  // Without trade numbers, only the count of the minute shows what is missing.
  const isCounted = venue === 'perp' && ['trades', 'candles'].includes(feed.dataset)
  const minuteMs = Math.floor(fromMs / MINUTE_MS) * MINUTE_MS
  const minute = { fromMs: minuteMs, toMs: minuteMs + 2 * MINUTE_MS }
  const wide = { fromMs: fromMs - earlyMs, toMs: againMs, isSure: true }
  switch (kind) {
    case 'drop':
      return { ...wide, reason: 'venue_down' }
    case 'hang':
      return { ...wide, reason: 'not_observed' }
    case 'mute':
      return { ...wide, toMs: toMs + earlyMs, reason: 'not_observed' }
    case 'malformed':
    case 'wrong-time': {
      // Which socket the frames belonged to is a matter of chance.
      const lateMs = feed.dataset === 'liquidations' ? LIQUIDATION_TRANSIT_MS : 0
      const damaged = { fromMs: fromMs - DAMAGE_MS - lateMs - SLACK_MS, toMs: toMs + SLACK_MS, isSure: false }
      // A refused book or figure leaves a silence from the one before it to the next one, because the venue cannot be
      // asked for it.
      if (feed.dataset === 'snapshots' || feed.dataset === 'open_interest')
        return {
          ...{ fromMs: fromMs - earlyMs, toMs: toMs + everyMs + earlyMs },
          isSure: false,
          reason: 'not_observed',
        }
      return { ...(isCounted ? minute : damaged), isSure: false, reason: 'not_observed' }
    }
    case 'skip':
      return isCounted ? { ...minute, isSure: true, reason: 'not_observed' } : undefined
    default:
      return undefined
  }
}

const feedsOf = (venue: SandboxVenue) =>
  trackedFeeds(VENUES[EXCHANGES[venue].name].plan, 'BTC').map(({ feed }) => feed)

for (const [minute, faults] of TIMELINE.entries()) {
  for (const venue of VENUE_NAMES) {
    const kinds = faults.filter((fault) => fault.venue === venue).map(({ kind }) => kind)
    test(`${venue}, ${kinds.join(' and ')}: rows and gaps together are exactly what happened`, async () => {
      const fromMs = range.fromMs + minute * MINUTE_MS
      // The effects of a fault reach into the next minute.
      const own = { fromMs, toMs: fromMs + MINUTE_MS + 5 * SECOND_MS }
      const subject = { store: recording.store, truth: world.sandbox.truth, venue, symbol: 'BTC' } as const
      assert.deepEqual(await compareAll({ ...subject, range: own, slackMs: SLACK_MS, aheadMs: SKEW_MS }), [])
      for (const feed of feedsOf(venue)) {
        const gaps = await readGaps(recording.store, feed, own)
        const ofVenue = begun.filter((each) => each.fault.venue === venue)
        const windowsOf = (all: readonly Begun[]) => all.flatMap((each) => windowOf(each, feed) ?? [])
        const name = `${feedName(feed)}: ${JSON.stringify(gaps)} in ${JSON.stringify(windowsOf(ofVenue))}`
        for (const gap of gaps) {
          assert.equal(gap.source, feed.source)
          const isIn = (window: Window) =>
            gap.from >= window.fromMs && gap.to <= window.toMs && gap.reason === window.reason
          assert.ok(windowsOf(ofVenue).some(isIn), name)
        }
        for (const { isSure, reason } of windowsOf(ofVenue.filter(({ fault }) => faults.includes(fault))))
          assert.ok(!isSure || gaps.some((gap) => gap.reason === reason), name)
      }
    })
  }
}

test('over the whole time: rows and gaps together are exactly what happened', async () => {
  for (const venue of VENUE_NAMES) {
    const subject = { store: recording.store, truth: world.sandbox.truth, venue, symbol: 'BTC' } as const
    assert.deepEqual(await compareAll({ ...subject, range, slackMs: SLACK_MS, aheadMs: SKEW_MS }), [])
    // The range contains a settlement, a grid point and the end of a bucket, so no comparison was empty.
    for (const feed of feedsOf(venue)) {
      if (!['', '1s', '1m', '5m'].includes(feed.interval)) continue
      assert.ok((await readRows(recording.store, feed, range)).length > 0, feedName(feed))
    }
  }
})

test('trades without numbers: the count of the venue shows the minute in which some were lost, its candles the moment', async () => {
  const skip = begun.find(({ fault }) => fault.kind === 'skip' && fault.venue === 'perp')
  const fromMs = Math.floor((skip?.fromMs ?? 0) / MINUTE_MS) * MINUTE_MS
  const feed = feedOf('trades', 'perpdex', 'BTC')
  const gaps = await readGaps(recording.store, feed, { fromMs, toMs: fromMs + MINUTE_MS })
  assert.equal(gaps.length, 1, JSON.stringify(gaps))
  assert.equal(gaps[0]?.reason, 'not_observed')
  assert.ok((gaps[0]?.to ?? 0) - (gaps[0]?.from ?? 0) < MINUTE_MS / 2, JSON.stringify(gaps))
})

test('a muted symbol: the gap begins a millisecond after what was received last', async () => {
  const mute = begun.find(({ fault }) => fault.kind === 'mute' && fault.venue === 'perp')
  const feed = feedOf('trades', 'perpdex', 'BTC')
  const muted = { fromMs: (mute?.fromMs ?? 0) - 20_000, toMs: (mute?.toMs ?? 0) + 5_000 }
  // The end of the previous fault may lie in the same range.
  const gaps = (await readGaps(recording.store, feed, muted)).filter(({ to }) => to > (mute?.fromMs ?? 0))
  const [gap] = gaps
  assert.ok(gap !== undefined && gaps.length === 1, JSON.stringify(gaps))
  const times = (await readRows(recording.store, feed, muted)).map((row) => Date.parse(row.timestamp))
  assert.equal((times.findLast((timeMs) => timeMs < (mute?.fromMs ?? 0)) ?? 0) + 1, gap.from)
})

test('every channel of a muted symbol is noticed within two of its expected intervals', () => {
  for (const { fault, fromMs } of begun) {
    if (fault.kind !== 'mute') continue
    // Requested data is not muted, and liquidations may be silent for any length of time.
    const { live } = VENUES[EXCHANGES[fault.venue].name].create({ clock: world.clock }).describe
    const channels = channelsAt(fault.venue)
    const silences = channels
      .filter(({ topic: dataset }) => live[dataset]?.via === 'stream' && live[dataset]?.maxSilenceMs !== null)
      .map(({ topic: dataset }) => SILENCE_MS[dataset as keyof typeof SILENCE_MS])
    for (const silenceMs of new Set(silences)) {
      const left = channels.length - silences.filter((each) => each <= silenceMs).length
      const afterMs = upAt(fault.venue, (up) => up <= left, fromMs) - fromMs
      assert.ok(afterMs <= 2 * silenceMs, `${fault.venue}: ${afterMs} of ${silenceMs} ms`)
    }
  }
})

test('no closed row was ever rewritten', () => {
  for (const { detail } of recording.supervisor.status())
    assert.deepEqual([detail.name, detail.counts.corrected, detail.counts.refused], [detail.name, 0, 0])
})
