/**
 * One simulated exchange, recorded by the real recorder into the real store:
 *
 *   world ─▶ venue ─▶ network ─▶ recorder and backfill ─▶ disk ─▶ store ◀─ readers (the judge)
 */
import type { FaultSpec } from '../../sandbox/server/faults.ts'
import { feedName } from '../../src/core/feed.ts'
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../src/core/interval.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import { recordExchange } from '../../src/ingest/exchange/record-exchange.ts'
import { trackedFeeds } from '../../src/ingest/shared/feeds.ts'
import { keepTime } from '../../src/ingest/shared/keep-time.ts'
import { ASK_QUIET_AGAIN } from '../../src/ingest/shared/watch-silence.ts'
import { VENUES } from '../../src/venues/list.ts'
import type { VenueDescription } from '../../src/venues/venue.ts'
import { MAX_STANDSTILL_MS } from '../../src/venues/venue-clock.ts'
import { compareAll, type Subject } from '../ingest/compare.ts'
import { EXCHANGES, type SandboxVenue } from '../ingest/recording.ts'
import { startTestExchanges } from '../sandbox/start.ts'
import { watchBudget } from './budget.ts'
import {
  beginDiskFault,
  beginNetworkFault,
  beginVenueFault,
  clockErrorOf,
  DISK_FAULTS,
  NETWORK_FAULTS,
  RECORDER_FAULTS,
} from './common-faults.ts'
import { createLeakWatch } from './leaks.ts'
import type { Random } from './random.ts'
import { startRecording } from './recording.ts'
import type { FaultKind, ScheduledFault } from './schedule.ts'
import { createSealedPages } from './sealed-pages.ts'
import type { Part, PartKind, Surroundings } from './simulation.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
/** Around a fault: what was under way before it, and what still arrives after it. */
const BEFORE_MS = 5_000
const AFTERWARDS_MS = 65_000
/** The longest way of a frame without a fault: a tick, and a latency of ten times the usual. */
const LATENCY_MS = 500
const SYMBOLS: readonly AssetSymbol[] = ['BTC', 'ETH']

const venueFault = (
  kind: FaultSpec['kind'],
  weight: number,
  durationMs: FaultKind['durationMs'],
  settings?: FaultKind['settings'],
): FaultKind => ({ kind, weight, durationMs, ...(settings === undefined ? {} : { settings }) })

const VENUE_FAULTS: readonly FaultKind[] = [
  venueFault('drop', 3, [200, 20 * MINUTE_MS]),
  venueFault('mute', 2, [5 * SECOND_MS, 10 * MINUTE_MS]),
  venueFault('hang', 2, [5 * SECOND_MS, 5 * MINUTE_MS]),
  venueFault('reorder', 1, [SECOND_MS, 2 * MINUTE_MS]),
  venueFault('duplicate', 1, [SECOND_MS, 2 * MINUTE_MS]),
  venueFault('skip', 2, [0, 0], (random) => ({ count: random.int(1, 20) })),
  venueFault('late-close', 1, [MINUTE_MS, 5 * MINUTE_MS], (random) => ({ delayMs: random.int(500, 20_000) })),
  venueFault('missing-close', 1, [MINUTE_MS, 5 * MINUTE_MS]),
  venueFault('late', 1, [SECOND_MS, 2 * MINUTE_MS], (random) => ({
    delayMs: random.int(200, random.pick([20_000, 45_000])),
  })),
  venueFault('unknown-message', 1, [0, 0], (random) => ({ count: random.int(1, 6) })),
  // Without a number of seconds the venue does not say how long to wait.
  venueFault('rate-limit', 1, [SECOND_MS, 5 * MINUTE_MS], (random) => ({
    retryAfterS: random.chance(0.3) ? 0 : random.int(1, 30),
  })),
  venueFault('maintenance', 1, [SECOND_MS, 20 * MINUTE_MS]),
  venueFault('stale', 2, [SECOND_MS, 10 * MINUTE_MS], (random) => ({
    delayMs: random.int(500, random.pick([5_000, 120_000])),
  })),
  venueFault('other-range', 1, [SECOND_MS, 5 * MINUTE_MS], (random) => ({
    offsetMs: random.pick([-1, 1]) * random.pick([1, 20, 60]) * MINUTE_MS,
  })),
  venueFault('delisted', 1, [SECOND_MS, 10 * MINUTE_MS]),
  venueFault('http-error', 1, [SECOND_MS, 10 * MINUTE_MS], (random) => ({
    status: random.pick([400, 403, 404, 500, 502, 503]),
  })),
  venueFault('malformed', 1, [0, 0], (random) => ({ count: random.int(1, 6) })),
  // Less far back a wrong time cannot be told from a late message.
  venueFault('wrong-time', 1, [0, 0], (random) => ({
    ...{ count: random.int(1, 6), offsetMs: random.pick([-24 * 60, 1, 60, 24 * 60]) * MINUTE_MS },
  })),
  venueFault('unfit-value', 2, [0, 0], (random) => ({ count: random.int(1, 30) })),
  venueFault('unfit-value', 1, [SECOND_MS, 5 * MINUTE_MS], () => ({ channel: 'rest' })),
  venueFault('skew', 1, [5 * SECOND_MS, 10 * MINUTE_MS], (random) => ({
    offsetMs: random.int(-1_500, 1_500),
  })),
]

/** While one of these lasts, the venue's trades cannot be requested, or not all of them. */
const OF_REQUESTS = [
  ...[
    'partial',
    'stale',
    'other-range',
    'other-symbol',
    'unfit-value',
    'http-error',
    'rate-limit',
    'maintenance',
  ],
  ...['hang', 'delisted', 'cut', 'stall', 'slow', 'truncate', 'unanswered'],
]
/** What was sent late does not come any more. */
const LOSES_FRAMES = [
  ...['drop', 'mute', 'hang', 'maintenance', 'delisted', 'cut', 'half-open', 'half-open-up'],
  ...['stall', 'truncate', 'kill', 'restart', 'strike', 'pause'],
]
/** After a start trades are requested for so long; then bars are built without those that did not come. */
const REQUESTED_WITHIN_MS = 5 * MINUTE_MS
/** What was not counted before the end. */
const UNCOUNTED_MS = 15 * MINUTE_MS

const PARTIAL = venueFault('partial', 1, [SECOND_MS, 10 * MINUTE_MS])
/** Answers of spot do not name their symbol: nobody could tell. */
const OTHER_SYMBOL = venueFault('other-symbol', 1, [SECOND_MS, 10 * MINUTE_MS])

/** Candles do not wait for their open interest for ever. */
const INTEREST_ONLY = venueFault('http-error', 1, [SECOND_MS, 40 * MINUTE_MS], () => ({
  ...{ status: 503, channel: 'open-interest' },
}))

const FAULTS_OF: Record<SandboxVenue, readonly FaultKind[]> = {
  spot: [...VENUE_FAULTS, PARTIAL],
  futures: [...VENUE_FAULTS, PARTIAL, OTHER_SYMBOL, INTEREST_ONLY],
  // A time without a candle is a time without a trade there: nobody could tell that an answer was cut.
  perp: [
    ...VENUE_FAULTS,
    OTHER_SYMBOL,
    venueFault('zero-fill', 1, [0, 0], (random) => ({ count: random.int(1, 6) })),
  ],
}

/** How late frames are read under a fault, and how much too early quotes of spot are dated by those around them. */
function latenessOf({ kind, durationMs, settings }: ScheduledFault, tickMs: number) {
  switch (kind) {
    case 'stall':
      // What waited is read at once: a quote then has the time of the dated frame before it, one of each second.
      return { lateMs: durationMs, datedLateMs: SECOND_MS + tickMs }
    case 'pause':
      return { lateMs: Math.min(durationMs, MAX_STANDSTILL_MS), datedLateMs: SECOND_MS + tickMs }
    case 'late':
      return { lateMs: Number(settings.delayMs), datedLateMs: Number(settings.delayMs) }
    case 'late-close':
      return { lateMs: 0, datedLateMs: Number(settings.delayMs) }
    case 'reorder':
      // Of two candles of a second the first comes after the second: until then the newest known time is that old. A frame
      // without a time of its own, one each second, changes places with the next.
      return { lateMs: SECOND_MS, datedLateMs: 2 * SECOND_MS + tickMs }
    case 'slow':
      return { lateMs: Number(settings.slowMs), datedLateMs: 0 }
    default:
      return { lateMs: 0, datedLateMs: 0 }
  }
}

export function exchangeKind(venue: SandboxVenue): PartKind {
  return {
    name: venue,
    faults: [...FAULTS_OF[venue], ...NETWORK_FAULTS, ...DISK_FAULTS, ...RECORDER_FAULTS],
    start: (surroundings) => startExchange(venue, surroundings),
  }
}

/** Two symbols cost twice as much as one: their world is a quieter one, so that two hours of it stay near 10 s. */
function drawWorld(random: Random) {
  const hasTwo = random.chance(0.2)
  return {
    seed: random.int(1, 1_000_000),
    tradesPerSecond: random.pick(hasTwo ? [0.02, 0.1] : [0.05, 0.3, 1]),
    tickMs: hasTwo ? 1_000 : random.pick([200, 1_000, 1_000, 1_000]),
    symbols: hasTwo ? [...SYMBOLS] : [random.pick(SYMBOLS)],
    /** How much of the past is asked for. */
    pastMs: random.pick(hasTwo ? [0, 10 * MINUTE_MS] : [0, 10 * MINUTE_MS, HOUR_MS]),
    /** Spot and futures number their trades: fills of size 0 are a matter of the world there. */
    ...(random.chance(0.2) ? { emptyFillEvery: random.int(1, 30) } : {}),
  }
}

async function startExchange(venue: SandboxVenue, surroundings: Surroundings): Promise<Part> {
  const { time, random, network, disk, note } = surroundings
  const world = drawWorld(random.stream('world'))
  note(`${venue}: ${JSON.stringify(world)}`)
  const outside = surroundings.startProcess(`${venue} world`)
  const sandbox = await startTestExchanges({
    ...world,
    clock: outside.clock,
    listen: network.listenAs(venue),
  })
  const { name } = EXCHANGES[venue]
  const { plan } = VENUES[name]
  const startedMs = time.nowMs
  const { live } = VENUES[name].create({ clock: outside.clock }).describe
  const tracked = world.symbols
    .flatMap((symbol) => trackedFeeds(plan, symbol))
    .map(({ feed, channels }) => ({
      feed,
      silenceMs: silenceOfChannels(live, channels),
      limitMs: noticedWithinMs(silenceOfChannels(live, channels)),
    }))
  const silenceOf = (dataset: string, interval: string) =>
    tracked.find(({ feed }) => feed.dataset === dataset && feed.interval === interval)?.silenceMs ?? 0
  /** Spot sends a candle each second: its silence is noticed first, and then that of the quotes. */
  const noticedMs = (dataset: string, interval: string) =>
    venue === 'spot' && dataset === 'ticker'
      ? silenceOf('candles', '1s') + 5_000
      : silenceOf(dataset, interval)
  const feeds = tracked.map(({ feed }) => feed)
  /** What the faults so far allow: how much later than sent a frame may have been read, how far clocks were apart. */
  let lateMs = 0
  let skewMs = 0
  /** Quotes of spot have the time of the frames around them: where those are late, they are dated too early. */
  let datedLateMs = 0
  /** The venue sent nothing, or lost frames, for less than the silence that is normal. */
  const quiet: { fromMs: number; toMs: number; lengthMs: number }[] = []
  const disturbed: { fromMs: number; toMs: number; lateMs: number; datedLateMs: number }[] = []
  /** When frames were sent late; what ends their connection before they come loses them as if they had not been sent. */
  const late: { fromMs: number; toMs: number; lengthMs: number; comesMs: number }[] = []
  /** When the recorder ended and started. */
  const restarts: number[] = []
  const withoutRequests: { fromMs: number; toMs: number }[] = []
  let hadUnfitAnswers = false
  const budget = watchBudget(network, sandbox.faults, time)
  const recording = await startRecording(surroundings, {
    name: venue,
    outside,
    onChange: () => void restarts.push(time.nowMs),
    createRecorder({ process, time, store, log, audit }) {
      const { random } = process
      const recorded = VENUES[name].create({
        clock: time,
        random,
        dial: network.dialFor(process),
        fetch: time.through(budget.fetchFor(process)),
        hosts: { rest: sandbox[venue].restUrl, stream: sandbox[venue].wsUrl },
      })
      const recorder = recordExchange({
        ...{ plan, random, log, store, audit, symbols: world.symbols },
        clock: time,
        venue: recorded,
        backfillFromMs: startedMs - world.pastMs,
      })
      return keepTime(recorder, { time, random, log, venue: recorded })
    },
  })
  const { reader } = recording
  const sealed = createSealedPages(reader, feeds, random.stream('sealed'))
  const leaks = createLeakWatch(surroundings, () => ({ ...recording.counts(), ...network.counts() }))

  /** A clock that was wrong is found out over minutes; frames are late only while a fault lasts, and a moment after it. */
  function slackAt(timeMs: number) {
    const now = disturbed.filter(({ fromMs, toMs }) => timeMs >= fromMs && timeMs < toMs)
    return {
      slackMs: LATENCY_MS + world.tickMs + skewMs + Math.max(0, ...now.map((each) => each.lateMs)),
      aheadMs: LATENCY_MS + skewMs + Math.max(0, ...now.map((each) => each.datedLateMs)),
    }
  }

  /** The contract: counts are null in bars that are rebuilt without aggregate trades. A start under such a fault does that. */
  const mayLackCounts = (fromMs: number, toMs: number) =>
    restarts.some(
      (atMs) =>
        fromMs < atMs + REQUESTED_WITHIN_MS &&
        toMs > atMs - UNCOUNTED_MS &&
        withoutRequests.some((span) => span.fromMs < atMs + REQUESTED_WITHIN_MS && span.toMs > atMs),
    )

  async function compare(
    fromMs: number,
    toMs: number,
    rangesOf?: (symbol: AssetSymbol) => Subject['rangeOf'],
  ): Promise<string[]> {
    const wrong: string[] = []
    for (const symbol of world.symbols)
      wrong.push(
        ...(await compareAll({
          ...{ store: reader, truth: sandbox.truth, venue, symbol },
          range: { fromMs, toMs },
          slackMs: LATENCY_MS + world.tickMs + lateMs + skewMs,
          aheadMs: LATENCY_MS + skewMs + datedLateMs,
          slackAt,
          mayLackCounts,
          quietOf: (dataset, interval) => {
            if (!isLostForGood(venue, dataset, interval)) return []
            // The venue's count of their minute proves them.
            if (dataset === 'trades' || dataset === 'candles') return []
            return quiet.filter(({ lengthMs }) => lengthMs < noticedMs(dataset, interval))
          },
          rangeOf: rangesOf?.(symbol),
        })),
      )
    return wrong
  }

  return {
    begin(fault) {
      const aroundMs = world.tickMs + LATENCY_MS
      if (LOSES_FRAMES.includes(fault.kind)) quiet.push(...late.filter(({ comesMs }) => time.nowMs < comesMs))
      if (fault.kind === 'late') {
        const toMs = time.nowMs + fault.durationMs + aroundMs
        const comesMs = toMs + Number(fault.settings.delayMs)
        late.push({ fromMs: time.nowMs - aroundMs, toMs, lengthMs: fault.durationMs, comesMs })
      }
      if (OF_REQUESTS.includes(fault.kind))
        withoutRequests.push({ fromMs: time.nowMs, toMs: time.nowMs + fault.durationMs })
      if (['mute', 'hang', 'skip', 'malformed', 'wrong-time', 'delisted'].includes(fault.kind)) {
        // Which frames are lost by their number is a matter of chance.
        const lengthMs = fault.durationMs === 0 ? 0 : fault.durationMs
        const endMs = time.nowMs + (fault.durationMs === 0 ? MINUTE_MS : fault.durationMs)
        quiet.push({
          fromMs: time.nowMs - aroundMs,
          toMs: endMs + aroundMs,
          lengthMs,
        })
      }
      if (fault.kind === 'unfit-value' && fault.settings.channel === 'rest') hadUnfitAnswers = true
      const lateness = latenessOf(fault, world.tickMs)
      lateMs = Math.max(lateMs, lateness.lateMs)
      datedLateMs = Math.max(datedLateMs, lateness.datedLateMs)
      disturbed.push({
        ...lateness,
        fromMs: time.nowMs - BEFORE_MS,
        toMs: time.nowMs + fault.durationMs + lateness.lateMs + lateness.datedLateMs + AFTERWARDS_MS,
      })
      skewMs = Math.max(skewMs, clockErrorOf(fault))
      return (
        recording.begin(fault) ??
        beginNetworkFault(network, venue, fault) ??
        beginDiskFault(disk, fault) ??
        beginVenueFault(sandbox.faults, venue, fault)
      )
    },
    async look() {
      const nowMs = time.nowMs
      const fromMs = Math.max(startedMs, nowMs - 15 * MINUTE_MS)
      const finality = await reader.series.finality(tracked.map(({ feed }) => feed))
      const endOf = new Map(
        tracked.map(({ feed, limitMs }, index) => [
          `${feed.dataset} ${feed.symbol} ${feed.interval}`,
          // What is not final may be wrong until a silence must have been noticed.
          Math.max(finality[index]?.before ?? 0, nowMs - limitMs),
        ]),
      )
      const wrong = await compare(fromMs, nowMs, (symbol) => (dataset, interval) => ({
        fromMs,
        toMs: Math.min(nowMs, endOf.get(`${dataset} ${symbol} ${interval}`) ?? fromMs),
      }))
      // A row that says that it is not closed yet, or a count that is not known, promises nothing.
      const claims = wrong.filter((text) => !/is still open|is null, was/.test(text))
      // One that says that it is closed is right, however new it is.
      const candles = await compare(fromMs, nowMs, () => (dataset) => ({
        fromMs,
        toMs: dataset === 'candles' ? nowMs : fromMs,
      }))
      claims.push(
        ...candles.filter((text) => / is [-\d.,]+, was |counts /.test(text) && !claims.includes(text)),
      )
      return [...claims.map((text) => `2 ${text}`), ...(await sealed.look()), ...budget.refusals()]
    },
    async judge() {
      // The last minutes are not closed yet.
      const toMs = time.nowMs - 3 * MINUTE_MS
      const wrong = (await compare(startedMs, toMs)).map((text) => `1 ${text}`)
      // What the venue keeps has no gap left.
      for (const feed of feeds) {
        if (isLostForGood(venue, feed.dataset, feed.interval)) continue
        const repairedMs = toMs - 10 * MINUTE_MS
        // A minute that cannot be served is a gap in the longer candles that hold it, which are repaired after their end.
        const isRepairedLater =
          hadUnfitAnswers && feed.interval !== '' && INTERVAL_MS[feed.interval] > MINUTE_MS
        const endMs = isRepairedLater ? candleStart(repairedMs, feed.interval) : repairedMs
        if (endMs <= startedMs) continue
        const { gaps } = await reader.coverage.read([feed], startedMs, endMs)
        // The time before the first row is no loss.
        for (const gap of gaps)
          if (gap.reason !== 'not_provided' && gap.reason !== 'before_start')
            wrong.push(
              `4 ${feedName(feed)}: ${gap.reason} from ${new Date(gap.from).toISOString()} to ${new Date(gap.to).toISOString()} was not repaired`,
            )
      }
      return [...wrong, ...(await sealed.judge()), ...leaks.judge(), ...recording.judge()]
    },
    async stop() {
      await recording.end()
      await sandbox.close()
    },
  }
}

/** The longest silence that is normal. */
function silenceOfChannels(live: VenueDescription['live'], channels: readonly string[]): number {
  const silences = channels.map((key) => {
    const [name = '', , interval = ''] = key.split(':')
    const topic = live[name as keyof typeof live]
    return topic?.maxSilenceByInterval?.[interval as CandleInterval] ?? topic?.maxSilenceMs ?? 0
  })
  return Math.max(...silences)
}

/** A silent channel is known to be silent: after the request of the witness, and its longest pause if it was quiet before. */
const noticedWithinMs = (silenceMs: number) => silenceMs + ASK_QUIET_AGAIN.capMs + 30 * SECOND_MS

/** What an exchange never sends again. */
function isLostForGood(venue: SandboxVenue, dataset: string, interval: string): boolean {
  if (['ticker', 'liquidations', 'trades', 'snapshots'].includes(dataset)) return true
  return venue === 'perp' && (dataset === 'open_interest' || (dataset === 'candles' && interval === '1s'))
}
