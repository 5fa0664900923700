/**
 * A symbol that falls silent at a venue, as callers see it: every endpoint that the silent streams feed lists the gap
 * with its source and reason while it lasts. Afterwards, data that the venue can send again is complete, and the rest
 * stays a gap of exactly that time.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { INTERVAL_MS, type Interval } from '../../src/core/interval.ts'
import { ask } from '../fakes/client.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { type Recording, startRecording, startWorld, type World } from '../ingest/recording.ts'
import { type PacedClock, pacedClock } from '../predictions/paced-clock.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const START_MS = Date.parse('2026-11-10T00:02:20Z')
const MUTE_AT_MS = Date.parse('2026-11-10T00:03:08Z')
const MUTED_FOR_MS = 26 * SECOND_MS
const STEP_MS = process.env.TAPELINE_SOAK ? 100 : 250
const SLACK_MS = 2 * STEP_MS
const SILENCE_MS = 6 * SECOND_MS

interface Fed {
  readonly path: string
  readonly source: string
  /** How often its stream sends: a gap begins after the last message and ends with the next one. */
  readonly everyMs: number
  /** Whether the missed data can be requested from the venue. */
  readonly isToldAgain: boolean
}

const candles = (source: string, interval: string, everyMs: number, isToldAgain = true): Fed => ({
  ...{ path: `candles?interval=${interval}`, source, everyMs, isToldAgain },
})
const COARSE = ['1m', '5m', '15m', '1h', '4h', '1d']

const FED: readonly Fed[] = [
  candles('cexa', '1s', 1_000),
  ...COARSE.map((interval) => candles('cexa', interval, 2_000)),
  ...['5m', '15m', '1h', '4h', '24h'].map((interval) => ({
    ...candles('cexa', '', 2_000),
    path: `flow?interval=${interval}`,
  })),
  { path: 'ticker?', source: 'cexa', everyMs: 1_000, isToldAgain: false },
  candles('cexa_futures', '1s', 2_000),
  ...COARSE.map((interval) => candles('cexa_futures', interval, 1_000)),
  { path: 'ticker?', source: 'cexa_futures', everyMs: 1_000, isToldAgain: false },
  { path: 'liquidations?', source: 'cexa_futures', everyMs: 1_000, isToldAgain: false },
  candles('perpdex', '1s', 2_000, false),
  ...COARSE.map((interval) => candles('perpdex', interval, 2_000)),
  { path: 'trades?', source: 'perpdex', everyMs: 2_000, isToldAgain: false },
  { path: 'snapshots?', source: 'perpdex', everyMs: 5_400, isToldAgain: false },
  ...COARSE.slice(1).map((interval) => ({
    ...{ path: `open-interest?interval=${interval}`, source: 'perpdex', everyMs: 1_000, isToldAgain: false },
  })),
]

/** Requested over REST, so a silent stream does not affect them. */
const UNTOUCHED: readonly Pick<Fed, 'path' | 'source'>[] = [
  { path: 'funding?', source: 'cexa_futures' },
  { path: 'open-interest?interval=5m', source: 'cexa_futures' },
  { path: 'funding?', source: 'perpdex' },
]

interface Gap {
  source: string
  from: string
  to: string
  reason: string
}

let world: World<PacedClock>
let recording: Recording
let service: TestService
let key: string
let mutedMs = 0
const noticedMs: Record<string, number> = {}
const during = new Map<Fed, Gap[]>()
const later = new Map<Fed, Gap[]>()
let askedToMs = 0
let askedAtMs = 0

const iso = (timeMs: number) => new Date(timeMs).toISOString()

async function gapsOf({ path, source }: Pick<Fed, 'path' | 'source'>, fromMs: number, toMs: number) {
  const range = `start=${iso(fromMs)}&end=${iso(toMs)}`
  // Flow and liquidations have one source each and accept no other.
  const from = /^(flow|liquidations)/.test(path) ? '' : `&source=${source}`
  const answer = await ask(`${service.url}/v1/${path}${from}&symbol=BTC&${range}`, { key })
  assert.equal(answer.status, 200, `${path}: ${answer.text.slice(0, 300)}`)
  const { coverage } = answer.json.meta as { coverage: { complete: boolean; gaps: Gap[] } }
  assert.equal(coverage.complete, coverage.gaps.length === 0, path)
  return coverage.gaps
}

/** When a source was first seen with a channel down. */
async function notice(): Promise<void> {
  while (world.clock.now() < mutedMs + MUTED_FOR_MS) {
    for (const { source, detail } of recording.supervisor.status())
      if (detail.channelsUp < detail.channels) noticedMs[source] ??= world.clock.now()
    await world.clock.sleep(100)
  }
}

before(async () => {
  const clock = pacedClock(START_MS, STEP_MS)
  world = await startWorld(clock)
  service = await startTestService({ clock: world.clock })
  key = await service.key()
  recording = await startRecording(world, {
    folder: service.folder,
    backfill: true,
    backfillFromMs: Math.floor(START_MS / (24 * 60 * MINUTE_MS)) * 24 * 60 * MINUTE_MS,
    maxSilenceMs: {
      ...{ candles: SILENCE_MS, aggregate_trades: SILENCE_MS, trades: SILENCE_MS, best_bid_ask: SILENCE_MS },
      ...{ book: 2 * SILENCE_MS, open_interest: SILENCE_MS },
    },
  })
  // Each step waits until what was written in it is in the store.
  clock.follower = async () => void (await recording.store.write({}))
  await clock.runUntil(MUTE_AT_MS)
  for (const venue of ['spot', 'futures', 'perp'] as const)
    mutedMs = world.sandbox.faults.set({
      ...{ kind: 'mute', venue, symbol: 'BTC', durationMs: MUTED_FOR_MS },
    }).startedAtMs
  const noticing = notice()
  await clock.runUntil(mutedMs + MUTED_FOR_MS - 6 * SECOND_MS)
  askedToMs = mutedMs + MUTED_FOR_MS - 12 * SECOND_MS
  askedAtMs = clock.now()
  for (const fed of FED) during.set(fed, await gapsOf(fed, mutedMs - 10 * SECOND_MS, askedToMs))
  await clock.during(noticing)
  const minuteEndMs = Math.ceil((mutedMs + MUTED_FOR_MS) / MINUTE_MS) * MINUTE_MS
  await clock.runUntil(minuteEndMs + 40 * SECOND_MS)
  for (const fed of FED) later.set(fed, await gapsOf(fed, mutedMs - 10 * SECOND_MS, minuteEndMs))
})

after(async () => {
  if (world !== undefined) world.clock.follower = undefined
  await world?.clock.during(Promise.resolve(recording?.close()))
  await world?.clock.during(Promise.resolve(service?.stop()))
  await world?.close()
})

const nameOf = ({ path, source }: Fed) => `${source} ${path}`

function assertBegins(gap: Gap, fed: Fed): void {
  const offMs = Date.parse(gap.from) - mutedMs
  assert.ok(offMs <= SLACK_MS && offMs >= -fed.everyMs - SLACK_MS, `${nameOf(fed)} begins ${offMs} ms off`)
}

/** The end of the time that a page covers while the silence lasts. */
function endOf({ path }: Fed): number {
  // The end of a range of snapshots is part of it.
  if (path.startsWith('snapshots')) return askedToMs + 1
  const interval = /^(?:candles|flow)\?interval=(.+)/.exec(path)?.[1] as Interval | undefined
  if (interval === undefined) return askedToMs
  // The last candle of the range is served whole; only what has passed of it can be observed.
  const lengthMs = INTERVAL_MS[interval]
  const candleEndMs = Math.ceil(askedToMs / lengthMs) * lengthMs
  return candleEndMs - lengthMs < mutedMs - 10 * SECOND_MS ? askedToMs : Math.min(candleEndMs, askedAtMs)
}

test('a muted symbol is noticed within two of its expected intervals', () => {
  for (const source of ['cexa', 'cexa_futures', 'perpdex']) {
    const afterMs = (noticedMs[source] ?? Number.POSITIVE_INFINITY) - mutedMs
    assert.ok(afterMs <= 2 * SILENCE_MS, `${source}: ${afterMs} ms`)
  }
})

test('while it lasts every endpoint it feeds names the stretch, the source and the reason', () => {
  for (const fed of FED) {
    const gaps = during.get(fed) ?? []
    const endMs = endOf(fed)
    const [gap] = gaps
    assert.ok(gap !== undefined && gaps.length === 1, `${nameOf(fed)}: ${JSON.stringify(gaps)}`)
    assert.deepEqual([gap.source, gap.reason, gap.to], [fed.source, 'not_observed', iso(endMs)], nameOf(fed))
    assertBegins(gap, fed)
  }
})

test('afterwards what the venue can tell again is whole', () => {
  for (const fed of FED) if (fed.isToldAgain) assert.deepEqual(later.get(fed), [], nameOf(fed))
})

test('afterwards what the venue cannot tell again is a gap of exactly the muted stretch', () => {
  const heardMs = mutedMs + MUTED_FOR_MS
  for (const fed of FED) {
    if (fed.isToldAgain) continue
    const gaps = later.get(fed) ?? []
    const [gap] = gaps
    assert.ok(gap !== undefined && gaps.length === 1, `${nameOf(fed)}: ${JSON.stringify(gaps)}`)
    assert.deepEqual([gap.source, gap.reason], [fed.source, 'not_observed'], nameOf(fed))
    assertBegins(gap, fed)
    const offMs = Date.parse(gap.to) - heardMs
    assert.ok(offMs >= 0 && offMs <= fed.everyMs + SLACK_MS, `${nameOf(fed)} ends ${offMs} ms off`)
  }
})

test('what is asked for over REST never had a gap', async () => {
  // Requested at least every two minutes, and covered up to the last answer.
  await world.clock.runUntil(mutedMs + MUTED_FOR_MS + 2 * MINUTE_MS + 5 * SECOND_MS)
  for (const each of UNTOUCHED)
    assert.deepEqual(await gapsOf(each, mutedMs - 10 * SECOND_MS, mutedMs + MUTED_FOR_MS), [], each.path)
})
