/**
 * Hands the observations of a venue to the recorders of its symbols, and records which channels are up.
 *
 *   subscribed, data after silence ──▶ up
 *   disconnected, fell silent      ──▶ failed since the last data: recorders first, then coverage
 *   damaged                        ──▶ the moments before are in doubt
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Logger } from '../../kit/log.ts'
import type { GapReason } from '../../store/coverage.ts'
import { type Channel, channelKey, type Topic } from '../../venues/channel.ts'
import {
  type ControlObservation,
  type DataObservation,
  isControl,
  type Observation,
} from '../../venues/observation.ts'
import { MAX_AHEAD_MS } from '../../venues/plausible-bounds.ts'
import { channelOf, isSignOfLife } from './channel-of.ts'
import type { LiveRecorder } from './live-recorder.ts'
import type { CoverageTracker } from './track-coverage.ts'
import type { SilenceWatch } from './watch-silence.ts'

/** Coverage stays this far behind the present, because newer data may still be in transit. */
export const COVERAGE_MARGIN_MS = 2_000
/** Data arrives at most this long after its own time. */
export const MAX_TRANSIT_MS = 15_000
/** The venue collects liquidations for this long and then sends the last one. */
export const LIQUIDATION_TRANSIT_MS = 1_000
/** An unreadable frame may have carried any data of this much time before it. */
const DAMAGE_MS = 1_000
const DOUBT_STEP_MS = 250
/** Reasons of disconnects that we caused; all others are attributed to the venue. */
const OWN_REASONS = /consumer too slow|replaced|stood still/

interface DispatchParts {
  readonly recorders: ReadonlyMap<AssetSymbol, LiveRecorder>
  readonly tracker: CoverageTracker
  readonly silence: Pick<SilenceWatch, 'last' | 'receive' | 'stale' | 'up' | 'answered'>
  readonly log: Logger
  readonly signal: AbortSignal
  readonly startedMs: number
}

export class ObservationDispatch {
  private readonly parts: DispatchParts
  /** Channels that fell silent. Data or the answer to a poll brings them back, a new socket does not. */
  private readonly silent = new Set<string>()
  /** Trades are so frequent that their channel is looked up only once per kind and symbol. */
  private readonly known = new Map<
    DataObservation['kind'],
    Map<AssetSymbol, { channel: Channel; key: string }>
  >([
    ['trade', new Map()],
    ['aggregate_trade', new Map()],
  ])
  /** The venue's time of the latest data. */
  lastEventMs: number | null = null
  /** The most by which data was ahead of our clock on arrival, since the last call of `takeAheadMs`. */
  private aheadMs = 0
  /** Receive time of the last observation that was handed on. */
  processedMs: number

  constructor(parts: DispatchParts) {
    this.parts = parts
    this.processedMs = parts.startedMs
  }

  take(observation: Observation): void {
    this.processedMs = observation.receivedMs
    if (isControl(observation)) this.takeControl(observation)
    else this.takeData(observation)
  }

  fellSilent(channel: Channel, sinceMs: number, reason: GapReason): void {
    this.silent.add(channelKey(channel))
    this.failed(channel, sinceMs, reason)
  }

  /** How far the venue's clock is ahead of ours, according to the data since the last call. */
  takeAheadMs(): number {
    const { aheadMs } = this
    this.aheadMs = 0
    return aheadMs
  }

  private takeControl(observation: ControlObservation): void {
    const { tracker, silence, recorders, log, signal } = this.parts
    switch (observation.kind) {
      case 'subscribed': {
        const key = channelKey(observation.channel)
        tracker.limitChannel(key, Number.POSITIVE_INFINITY)
        if (!this.silent.has(key)) this.up(observation.channel, observation.receivedMs)
        return
      }
      case 'disconnected': {
        if (signal.aborted) return
        const reason = OWN_REASONS.test(observation.reason) ? 'not_observed' : 'venue_down'
        log.warn({ route: observation.route, reason: observation.reason }, 'a connection was lost')
        for (const channel of observation.channels) this.failed(channel, observation.sinceMs, reason)
        return
      }
      case 'stale':
        silence.stale(observation)
        return
      case 'answered': {
        const { channel, receivedMs } = observation
        const key = channelKey(channel)
        silence.answered(key)
        tracker.limitChannel(key, observation.observedToMs ?? receivedMs - COVERAGE_MARGIN_MS)
        if (this.silent.delete(key)) this.up(channel, receivedMs)
        recorders.get(channel.symbol)?.answered?.(channel.topic, receivedMs)
        return
      }
      case 'observed_to':
        tracker.limitChannel(channelKey(observation.channel), observation.toMs)
        recorders
          .get(observation.channel.symbol)
          ?.observedTo?.(observation.channel.topic, observation.toMs, observation.settledMs)
        return
      case 'damaged':
        for (const channel of observation.channels) {
          tracker.doubt(channelKey(channel), ...doubtOf(channel.topic, observation.receivedMs))
          recorders.get(channel.symbol)?.doubted?.(channel.topic, observation.receivedMs)
        }
    }
  }

  private takeData(observation: DataObservation): void {
    const { tracker, silence, recorders } = this.parts
    if (isSignOfLife(observation)) {
      const { channel, key } = this.channelOf(observation)
      this.lastEventMs = Math.max(this.lastEventMs ?? 0, observation.venueTimeMs)
      const aheadMs = observation.venueTimeMs - observation.receivedMs
      if (aheadMs > this.aheadMs && aheadMs <= MAX_AHEAD_MS) this.aheadMs = aheadMs
      silence.receive(key, observation)
      // Data proves that the channel is subscribed, even if the confirmation was lost.
      if (this.silent.delete(key) || !tracker.isUp(key)) this.up(channel, observation.receivedMs)
    }
    recorders.get(observation.symbol)?.observe(observation)
  }

  private up(channel: Channel, atMs: number): void {
    const { tracker, silence, recorders } = this.parts
    const key = channelKey(channel)
    if (tracker.isUp(key)) return
    silence.up(key, atMs)
    tracker.up(key, atMs)
    const recorder = recorders.get(channel.symbol)
    recorder?.gap(channel.topic, Number.NEGATIVE_INFINITY, atMs)
    recorder?.begins(channel.topic, atMs)
  }

  private failed(channel: Channel, receivedToMs: number, reason: GapReason): void {
    const { tracker, recorders } = this.parts
    const key = channelKey(channel)
    const sinceMs = missedSince(this.parts.silence.last(key), receivedToMs)
    // Rows of the time before the failure are put first, so that coverage never precedes them.
    recorders.get(channel.symbol)?.gap(channel.topic, sinceMs, Number.POSITIVE_INFINITY)
    tracker.failed(key, sinceMs, reason)
  }

  private channelOf(observation: DataObservation): { channel: Channel; key: string } {
    const ofKind = this.known.get(observation.kind)
    const known = ofKind?.get(observation.symbol)
    if (known !== undefined) return known
    const channel = channelOf(observation)
    const found = { channel, key: channelKey(channel) }
    ofKind?.set(observation.symbol, found)
    return found
  }
}

/** Rounded to whole steps, because unreadable frames come by the hundred and those of one step count as one doubt. */
function doubtOf(topic: Topic, receivedMs: number): [fromMs: number, toMs: number] {
  const transitMs = topic === 'liquidations' ? DAMAGE_MS + LIQUIDATION_TRANSIT_MS : DAMAGE_MS
  const endMs = (Math.floor(receivedMs / DOUBT_STEP_MS) + 1) * DOUBT_STEP_MS
  return [endMs - DOUBT_STEP_MS - transitMs, endMs]
}

/**
 * The instant from which data is missing: just after the last data in the venue's time, which is earlier than when it
 * arrived.
 */
export function missedSince(
  last: Pick<DataObservation, 'kind' | 'venueTimeMs'> | undefined,
  receivedToMs: number,
): number {
  if (last === undefined || last.kind === 'funding') return receivedToMs
  // Liquidations are rare, so the last one does not show when the gap began; only their transit time counts.
  if (last.kind === 'liquidation') return receivedToMs - LIQUIDATION_TRANSIT_MS
  return Math.max(Math.min(receivedToMs, last.venueTimeMs + 1), receivedToMs - MAX_TRANSIT_MS)
}
