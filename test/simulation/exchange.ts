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
import { compareAll, compareAllCandles, type Subject } from '../ingest/compare.ts'
import { FULL_BOOK_MS } from '../ingest/compare-quotes.ts'
import { EXCHANGES, type SandboxVenue } from '../ingest/recording.ts'
import { startTestExchanges } from '../sandbox/start.ts'
import { watchBudget } from './budget.ts'
import {
  beginDiskFault,
  beginNetworkFault,
  beginVenueFault,
  clockErrorOf,
  DISK_FAULTS,
  magnitude,
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
/** Margins around a fault: frames that were in transit when it began, and frames that still arrive after it. */
const BEFORE_MS = 5_000
const AFTERWARDS_MS = 65_000
/** The longest delay of a frame without a fault: a tick, and ten times the usual latency. */
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
  // With 0 the venue does not say how long to wait.
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
    'empty',
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
/** Faults that make a late frame get lost. */
const LOSES_FRAMES = [
  ...['drop', 'mute', 'hang', 'maintenance', 'delisted', 'cut', 'half-open', 'half-open-up'],
  ...['stall', 'truncate', 'kill', 'restart', 'strike', 'pause'],
]
/** How long trades are requested after a start; then flow rows are built without those that did not arrive. */
const REQUESTED_WITHIN_MS = 5 * MINUTE_MS
/** How far before a restart counts may be missing. */
const UNCOUNTED_MS = 15 * MINUTE_MS

const PARTIAL = [
  venueFault('partial', 1, [SECOND_MS, 10 * MINUTE_MS]),
  venueFault('empty', 1, [SECOND_MS, 10 * MINUTE_MS]),
]
/** Not on spot, whose answers do not name their symbol, so that the fault could not be noticed. */
const OTHER_SYMBOL = venueFault('other-symbol', 1, [SECOND_MS, 10 * MINUTE_MS])

/** Only requests for open interest fail: candles must not wait for it forever. */
const INTEREST_ONLY = venueFault('http-error', 1, [SECOND_MS, 40 * MINUTE_MS], () => ({
  ...{ status: 503, channel: 'open-interest' },
}))

/** Only lists of trades are cut or for another time: lost trades are requested from them, everything else works. */
const onTrades = { channel: 'agg-trades' }
const TRADES_ONLY: readonly FaultKind[] = [
  venueFault('partial', 1, [SECOND_MS, 20 * MINUTE_MS], () => onTrades),
  venueFault('empty', 1, [SECOND_MS, 20 * MINUTE_MS], () => onTrades),
  venueFault('other-range', 1, [SECOND_MS, 20 * MINUTE_MS], (random) => ({
    ...{ ...onTrades, offsetMs: random.pick([-1, 1]) * random.pick([1, 2, 20]) * MINUTE_MS },
  })),
]

/** Less than the three minutes for which a missing candle may still come. */
const LATE_QUIET = venueFault('late-quiet', 1, [MINUTE_MS, 20 * MINUTE_MS], (random) => ({
  delayMs: magnitude(random, SECOND_MS, 150 * SECOND_MS),
}))

/** The same for one kind of request of the perpetual venue, while all others are answered in full. */
const ONE_LIST: readonly FaultKind[] = (['partial', 'empty'] as const).map((kind) =>
  venueFault(kind, 2, [SECOND_MS, 20 * MINUTE_MS], (random) => ({
    channel: random.pick(['candle-history', 'funding-history', 'recent-trades']),
  })),
)

const FAULTS_OF: Record<SandboxVenue, readonly FaultKind[]> = {
  spot: [...VENUE_FAULTS, ...TRADES_ONLY, ...PARTIAL, LATE_QUIET],
  futures: [...VENUE_FAULTS, ...TRADES_ONLY, ...PARTIAL, LATE_QUIET, OTHER_SYMBOL, INTEREST_ONLY],
  perp: [
    ...VENUE_FAULTS,
    ...ONE_LIST,
    ...PARTIAL,
    OTHER_SYMBOL,
    venueFault('zero-fill', 1, [0, 0], (random) => ({ count: random.int(1, 6) })),
  ],
}

/** How late frames are read during a fault, and how much too early spot quotes are dated by the frames around them. */
function latenessOf({ kind, durationMs, settings }: ScheduledFault, tickMs: number) {
  switch (kind) {
    case 'stall':
      // Waiting frames are read all at once: a quote then gets the time of the last dated frame, one of each second.
      return { lateMs: durationMs, datedLateMs: SECOND_MS + tickMs }
    case 'pause':
      return { lateMs: Math.min(durationMs, MAX_STANDSTILL_MS), datedLateMs: SECOND_MS + tickMs }
    case 'late':
      return { lateMs: Number(settings.delayMs), datedLateMs: Number(settings.delayMs) }
    case 'late-close':
      return { lateMs: 0, datedLateMs: Number(settings.delayMs) }
    case 'reorder':
      // Of two candles of a second the first arrives after the second: until then the newest known time is that old. A
      // frame that carries no time, one each second, is swapped with the next one.
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

/** Two symbols take twice as long as one: their world is quieter, so that two simulated hours still take about 10 s. */
function drawWorld(random: Random) {
  const hasTwo = random.chance(0.2)
  return {
    seed: random.int(1, 1_000_000),
    // The busiest worlds fill whole pages of trades: only the ids show what a cut or shifted page lacks.
    tradesPerSecond: random.pick(hasTwo ? [0.02, 0.1] : [0.05, 0.3, 1, 5]),
    tickMs: hasTwo ? 1_000 : random.pick([200, 1_000, 1_000, 1_000]),
    symbols: hasTwo ? [...SYMBOLS] : [random.pick(SYMBOLS)],
    /** How much of the past is requested. */
    pastMs: random.pick(hasTwo ? [0, 10 * MINUTE_MS] : [0, 10 * MINUTE_MS, HOUR_MS]),
    /** Spot and futures number their trades, so fills of size 0 are part of the world instead of a fault. */
    ...(random.chance(0.2) ? { emptyFillEvery: random.int(1, 30) } : {}),
    /** Of every ten minutes: thin markets, in which several minutes in a row have no trade. */
    ...(random.chance(0.3) ? { quietMinutes: random.int(1, 4) } : {}),
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
  /** Spot sends a candle each second: their silence is noticed first, and with it the silence of the quotes. */
  const noticedMs = (dataset: string, interval: string) =>
    venue === 'spot' && dataset === 'ticker'
      ? silenceOf('candles', '1s') + 5_000
      : silenceOf(dataset, interval)
  const feeds = tracked.map(({ feed }) => feed)
  /** What the faults so far excuse: how long after sending a frame may have been read, and how far clocks differed. */
  let lateMs = 0
  let skewMs = 0
  /** Clock errors that last add up. */
  const clockErrors: { toMs: number; errorMs: number }[] = []
  /** Spot quotes get their time from the frames around them: if those are late, the quotes are dated too early. */
  let datedLateMs = 0
  /** Times in which the venue sent nothing, or lost frames, for no longer than a normal silence. */
  const quiet: { fromMs: number; toMs: number; lengthMs: number }[] = []
  const disturbed: { fromMs: number; toMs: number; lateMs: number; datedLateMs: number }[] = []
  /** When frames were sent late: if their connection ends before they arrive, they are lost as if never sent. */
  const late: { fromMs: number; toMs: number; lengthMs: number; comesMs: number }[] = []
  /** Instants at which the recorder ended or started. */
  const restarts: number[] = []
  /** When no recorder ran, which could have noticed anything. */
  const downs: { fromMs: number; toMs: number }[] = []
  const withoutRequests: { fromMs: number; toMs: number }[] = []
  let hadUnfitAnswers = false
  const budget = watchBudget(network, sandbox.faults, time)
  const recording = await startRecording(surroundings, {
    name: venue,
    outside,
    onChange: (isRunning) => {
      restarts.push(time.nowMs)
      const last = downs.at(-1)
      if (!isRunning) downs.push({ fromMs: time.nowMs, toMs: Number.POSITIVE_INFINITY })
      else if (last !== undefined) last.toMs = Math.min(last.toMs, time.nowMs)
    },
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

  /** A wrong clock has an effect for minutes; frames are late only during a fault and for a moment after it. */
  function slackAt(timeMs: number) {
    const now = disturbed.filter(({ fromMs, toMs }) => timeMs >= fromMs && timeMs < toMs)
    return {
      slackMs: LATENCY_MS + world.tickMs + skewMs + Math.max(0, ...now.map((each) => each.lateMs)),
      aheadMs: LATENCY_MS + skewMs + Math.max(0, ...now.map((each) => each.datedLateMs)),
    }
  }

  /** By contract, counts are null in rows rebuilt without aggregate trades, as after a start during such a fault. */
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
    compareSymbol = compareAll,
  ): Promise<string[]> {
    const wrong: string[] = []
    for (const symbol of world.symbols)
      wrong.push(
        ...(await compareSymbol({
          ...{ store: reader, truth: sandbox.truth, venue, symbol },
          range: { fromMs, toMs },
          slackMs: LATENCY_MS + world.tickMs + lateMs + skewMs,
          aheadMs: LATENCY_MS + skewMs + datedLateMs,
          slackAt,
          mayLackCounts,
          quietOf: (dataset, interval) => {
            if (!isLostForGood(venue, dataset, interval)) return []
            // A loss of these is noticed through the venue's count of the minute.
            if (dataset === 'trades' || dataset === 'candles') return []
            const unnoticed = quiet.filter(({ lengthMs }) => lengthMs < noticedMs(dataset, interval))
            // A lost book stays in force until the next one.
            return dataset === 'snapshots'
              ? unnoticed.map(({ fromMs, toMs }) => ({ fromMs, toMs: toMs + FULL_BOOK_MS }))
              : unnoticed
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
      // A swapped frame waits for the next one of its stream; liquidations of a symbol are up to a minute apart.
      if (fault.kind === 'reorder') {
        const toMs = time.nowMs + fault.durationMs + aroundMs
        late.push({ fromMs: time.nowMs - aroundMs, toMs, lengthMs: 0, comesMs: toMs + MINUTE_MS })
      }
      if (OF_REQUESTS.includes(fault.kind))
        withoutRequests.push({ fromMs: time.nowMs, toMs: time.nowMs + fault.durationMs })
      if (['mute', 'hang', 'skip', 'malformed', 'wrong-time', 'delisted'].includes(fault.kind)) {
        // With a fault that counts frames, it is random which ones are lost.
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
      clockErrors.push({ toMs: time.nowMs + fault.durationMs, errorMs: clockErrorOf(fault) })
      const lasting = clockErrors.filter(({ toMs }) => toMs > time.nowMs)
      skewMs = Math.max(
        skewMs,
        lasting.reduce((sum, { errorMs }) => sum + errorMs, 0),
      )
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
          // Above finality, rows may be wrong until a silence must have been noticed.
          Math.max(finality[index]?.before ?? 0, recordedBefore(downs, nowMs, limitMs)),
        ]),
      )
      const wrong = await compare(fromMs, nowMs, (symbol) => (dataset, interval) => ({
        fromMs,
        toMs: Math.min(nowMs, endOf.get(`${dataset} ${symbol} ${interval}`) ?? fromMs),
      }))
      // A row that is marked as not closed yet, or a count that is null, claims nothing.
      const claims = wrong.filter((text) => !/is still open|is null, was/.test(text))
      // A candle that is marked as closed must be right, however new it is.
      const candles = await compare(fromMs, nowMs, undefined, compareAllCandles)
      claims.push(
        ...candles.filter((text) => / is [-\d.,]+, was |counts /.test(text) && !claims.includes(text)),
      )
      return [...claims.map((text) => `2 ${text}`), ...(await sealed.look()), ...budget.refusals()]
    },
    async judge() {
      // The last minutes are not closed yet. One without a trade, and those around it, wait until a trade follows it or
      // the venue would have published it by now (three minutes after its end).
      const toMs = time.nowMs - (world.quietMinutes === undefined ? 3 : 6) * MINUTE_MS
      const wrong = (await compare(startedMs, toMs)).map((text) => `1 ${text}`)
      // No gap is left in what the venue still has.
      for (const feed of feeds) {
        if (isLostForGood(venue, feed.dataset, feed.interval)) continue
        const repairedMs = toMs - 10 * MINUTE_MS
        // A minute that cannot be served is a gap in the longer candles around it, which are repaired after their end.
        const isRepairedLater =
          hadUnfitAnswers && feed.interval !== '' && INTERVAL_MS[feed.interval] > MINUTE_MS
        const endMs = isRepairedLater ? candleStart(repairedMs, feed.interval) : repairedMs
        if (endMs <= startedMs) continue
        const { gaps } = await reader.coverage.read([feed], startedMs, endMs)
        // The time before the first row is not a loss.
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

/** The instant after which a recorder has run for so long; the time in which none ran does not count. */
function recordedBefore(
  downs: readonly { readonly fromMs: number; readonly toMs: number }[],
  nowMs: number,
  lengthMs: number,
): number {
  let atMs = nowMs - lengthMs
  for (const { fromMs, toMs } of downs.toReversed()) {
    const endMs = Math.min(toMs, nowMs)
    if (endMs > atMs) atMs -= endMs - fromMs
  }
  return atMs
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

/** A silence is noticed after the witness request, which is paused for longest if the channel was quiet before. */
const noticedWithinMs = (silenceMs: number) => silenceMs + ASK_QUIET_AGAIN.capMs + 30 * SECOND_MS

/** Whether it is data that an exchange never sends again. */
function isLostForGood(venue: SandboxVenue, dataset: string, interval: string): boolean {
  if (['ticker', 'liquidations', 'trades', 'snapshots'].includes(dataset)) return true
  return venue === 'perp' && (dataset === 'open_interest' || (dataset === 'candles' && interval === '1s'))
}
