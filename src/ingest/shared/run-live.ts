/**
 * Listens to one venue: hands its observations to the recorders of the symbols and tracks what was observed.
 *
 *   session ──batches──▶ dispatch ──▶ symbol recorders ──▶ rows
 *                           ├── connected, disconnected, stale, damaged ──▶ coverage
 *                           ╰── back-pressure: the next batch waits until the writer has room
 *   every second: open candles written, coverage extended · every half second: books sampled · ended minutes closed
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'
import type { GapReason } from '../../store/coverage.ts'
import { type Channel, channelKey, type Topic } from '../../venues/channel.ts'
import { type DataObservation, isControl, type Observation } from '../../venues/observation.ts'
import type { LiveOptions, LiveSession, Venue } from '../../venues/venue.ts'
import type { CoverageTracker } from './track-coverage.ts'
import { type SilenceWatch, watchSilence } from './watch-silence.ts'
import type { RowWriter } from './write-rows.ts'

/** Data of the present may still be on its way for so long. */
const COVERAGE_MARGIN_MS = 2_000
const TICK_MS = 1_000
const SAMPLE_MS = 500
/** Data arrives at most so long after its own time. */
const MAX_WAY_MS = 15_000
/** The venue collects liquidations for so long before it sends the last one. */
const LIQUIDATION_WAY_MS = 1_000
/** An unreadable frame may have carried anything of so much time before it. */
const DAMAGE_MS = 1_000
/** Disconnects that we caused; all others count as the venue's. */
const OWN_REASONS = /consumer too slow|replaced/

/** The recorder of a symbol, as far as live data is concerned. */
export interface LiveRecorder {
  observe(observation: DataObservation): void
  /** Something of a channel was missed; an open end is the present. */
  gap(dataset: string, fromMs: number, toMs: number): void
  /** A channel begins, for the first time or again. */
  begins(dataset: string, atMs: number): void
  /** Puts what is due: open candles, samples, tickers. Every second; everything up to `receivedToMs` has been received. */
  show(nowMs: number, receivedToMs: number): void
  /** Puts book samples. Every half second. */
  sample(nowMs: number, receivedToMs: number): void
  /** Asks the venue for what has ended and closes it. */
  close(nowMs: number): Promise<void>
  /** A polled channel has answered, with or without new data. */
  answered?(dataset: Topic, atMs: number): void
}

export interface LiveRun {
  readonly done: Promise<void>
  status(): LiveStatus
  close(): Promise<void>
}

interface LiveStatus {
  readonly channels: number
  readonly up: number
  readonly lastEventMs: number | null
  readonly session: ReturnType<LiveSession['stats']>
  readonly silences: ReturnType<SilenceWatch['stats']>
}

export function runLive(options: {
  venue: Venue
  channels: readonly Channel[]
  /** Whether books are sampled. */
  hasSnapshots: boolean
  recorders: ReadonlyMap<AssetSymbol, LiveRecorder>
  tracker: CoverageTracker
  writer: RowWriter
  clock: Clock
  log: Logger
  signal: AbortSignal
  maxSilenceMs?: LiveOptions['maxSilenceMs']
}): LiveRun {
  const { venue, channels, recorders, tracker, writer, clock, log } = options
  const stop = new AbortController()
  const signal = AbortSignal.any([options.signal, stop.signal])
  const session = venue.live(channels, {
    signal,
    ...(options.maxSilenceMs === undefined ? {} : { maxSilenceMs: options.maxSilenceMs }),
  })
  /** Channels that fell silent: data brings them back, a new socket does not. */
  const silent = new Set<string>()
  const places = new Map<DataObservation['kind'], Map<AssetSymbol, { channel: Channel; key: string }>>([
    ['trade', new Map()],
    ['aggregate_trade', new Map()],
  ])
  let lastEventMs: number | null = null
  let processedMs = clock.now()

  const silence = watchSilence({
    venue,
    session,
    clock,
    log,
    signal,
    onFault(channel, sinceMs, reason) {
      silent.add(channelKey(channel))
      failed(channel, sinceMs, reason)
    },
  })

  /** The last data is older than the moment it arrived: what happened after it was missed. */
  function missedSince(key: string, receivedToMs: number): number {
    const last = silence.last(key)
    if (last === undefined || last.kind === 'funding') return receivedToMs
    // They are rare, so the last one only shows how late they arrive.
    if (last.kind === 'liquidation') return receivedToMs - LIQUIDATION_WAY_MS
    return Math.max(Math.min(receivedToMs, last.venueTimeMs + 1), receivedToMs - MAX_WAY_MS)
  }

  function failed(channel: Channel, receivedToMs: number, reason: GapReason): void {
    const key = channelKey(channel)
    const sinceMs = missedSince(key, receivedToMs)
    // Rows of the time before are put first, so that coverage never precedes them.
    recorders.get(channel.symbol)?.gap(channel.topic, sinceMs, Number.POSITIVE_INFINITY)
    tracker.failed(key, sinceMs, reason)
  }

  function up(channel: Channel, atMs: number): void {
    const key = channelKey(channel)
    if (tracker.isUp(key)) return
    tracker.up(key, atMs)
    const recorder = recorders.get(channel.symbol)
    recorder?.gap(channel.topic, Number.NEGATIVE_INFINITY, atMs)
    recorder?.begins(channel.topic, atMs)
  }

  function take(observation: Observation): void {
    processedMs = observation.receivedMs
    if (!isControl(observation)) {
      data(observation)
      return
    }
    switch (observation.kind) {
      case 'subscribed':
        tracker.limitChannel(channelKey(observation.channel), Number.POSITIVE_INFINITY)
        if (!silent.has(channelKey(observation.channel))) up(observation.channel, observation.receivedMs)
        return
      case 'disconnected': {
        if (signal.aborted) return
        const reason = OWN_REASONS.test(observation.reason) ? 'not_observed' : 'venue_down'
        log.warn({ route: observation.route, reason: observation.reason }, 'a connection was lost')
        for (const channel of observation.channels) failed(channel, observation.sinceMs, reason)
        return
      }
      case 'stale':
        silence.stale(observation)
        return
      case 'answered':
        silence.answered(channelKey(observation.channel))
        tracker.limitChannel(channelKey(observation.channel), observation.receivedMs - COVERAGE_MARGIN_MS)
        if (silent.delete(channelKey(observation.channel))) up(observation.channel, observation.receivedMs)
        recorders
          .get(observation.channel.symbol)
          ?.answered?.(observation.channel.topic, observation.receivedMs)
        return
      case 'damaged':
        for (const channel of observation.channels)
          tracker.doubt(channelKey(channel), observation.receivedMs - DAMAGE_MS, observation.receivedMs + 1)
    }
  }

  /** Trades are many: their channel is worked out once per kind and symbol. */
  function place(observation: DataObservation): { channel: Channel; key: string } {
    const ofKind = places.get(observation.kind)
    const known = ofKind?.get(observation.symbol)
    if (known !== undefined) return known
    const channel = channelOf(observation)
    const found = { channel, key: channelKey(channel) }
    ofKind?.set(observation.symbol, found)
    return found
  }

  function data(observation: DataObservation): void {
    if (!isSignOfLife(observation)) {
      recorders.get(observation.symbol)?.observe(observation)
      return
    }
    const { channel, key } = place(observation)
    lastEventMs = Math.max(lastEventMs ?? 0, observation.venueTimeMs)
    silence.receive(key, observation)
    // Data proves that the channel is subscribed, even if the confirmation was lost.
    if (silent.delete(key) || !tracker.isUp(key)) up(channel, observation.receivedMs)
    recorders.get(observation.symbol)?.observe(observation)
  }

  async function listen(): Promise<void> {
    for await (const batch of session.batches()) {
      for (const observation of batch) take(observation)
      await writer.ready()
    }
  }

  /** Everything up to here has been received; less while the queue is not empty. */
  const heardTo = (readMs: number) => (session.stats().queued > 0 ? Math.min(processedMs, readMs) : readMs)

  async function tick(): Promise<void> {
    // What the sockets held at one tick has been read by the next, however busy this thread is.
    let readMs = clock.now()
    for (;;) {
      await clock.sleep(TICK_MS, signal)
      const nowMs = clock.now()
      // While the store fails, nothing is added to the waiting rows and no coverage is recorded.
      if (writer.stats().failure !== null) continue
      const receivedToMs = heardTo(readMs)
      for (const recorder of recorders.values()) recorder.show(nowMs, receivedToMs)
      tracker.coverTo(receivedToMs - COVERAGE_MARGIN_MS)
      readMs = nowMs
    }
  }

  async function sample(): Promise<void> {
    if (!options.hasSnapshots) return
    let readMs = clock.now()
    for (;;) {
      await clock.sleep(SAMPLE_MS, signal)
      const nowMs = clock.now()
      if (writer.stats().failure !== null) continue
      for (const recorder of recorders.values()) recorder.sample(nowMs, heardTo(readMs))
      readMs = nowMs
    }
  }

  async function close(recorder: LiveRecorder): Promise<void> {
    for (;;) {
      try {
        await recorder.close(clock.now())
      } catch (error) {
        if (signal.aborted) return
        log.warn({ venue: venue.describe.name, err: error }, 'minutes could not be closed yet')
        await clock.sleep(2 * TICK_MS, signal)
      }
      await clock.sleep(TICK_MS, signal)
    }
  }

  const endQuietly = (error: unknown) => {
    if (!signal.aborted) throw error
  }
  const loops = [listen(), tick(), sample(), ...[...recorders.values()].map(close)].map((loop) =>
    loop.catch(endQuietly),
  )
  const done = Promise.all(loops)
    .then(() => undefined)
    .finally(() => stop.abort())
  done.catch(() => {})

  return {
    done,
    status: () => ({
      channels: channels.length,
      up: channels.filter((channel) => tracker.isUp(channelKey(channel))).length,
      lastEventMs,
      session: session.stats(),
      silences: silence.stats(),
    }),
    async close() {
      stop.abort()
      await session.close()
      await done.catch(() => {})
    },
  }
}

/**
 * A lost book and the results of a sweep come from us, so they do not prove that the channel is alive. Nor does one
 * reference price while another is missing.
 */
function isSignOfLife(observation: DataObservation): boolean {
  switch (observation.kind) {
    case 'book_lost':
    case 'swept':
    case 'swept_to':
      return false
    case 'trade':
      return observation.isSwept !== true
    case 'reference_price':
      return observation.isPartial !== true
    default:
      return true
  }
}

const DATASET_OF: Readonly<Record<Exclude<DataObservation['kind'], 'candle'>, Topic>> = {
  trade: 'trades',
  aggregate_trade: 'aggregate_trades',
  funding: 'funding',
  open_interest: 'open_interest',
  liquidation: 'liquidations',
  best_bid_ask: 'best_bid_ask',
  exchange_book: 'book',
  book_snapshot: 'book',
  book_delta: 'book',
  book_lost: 'book',
  market: 'markets',
  market_ticker: 'market_ticker',
  reference_price: 'reference_price',
  mid: 'mids',
  contract_candle: 'contract_candles',
  oracle_round: 'oracle_rounds',
  swept: 'trades',
  swept_to: 'trades',
}

export function channelOf(observation: DataObservation): Channel {
  const { symbol } = observation
  switch (observation.kind) {
    case 'candle':
      return { topic: 'candles', symbol, interval: observation.interval }
    default:
      return { topic: DATASET_OF[observation.kind], symbol }
  }
}
