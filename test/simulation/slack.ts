/**
 * How far a row may be from its instant because a fault delayed frames or moved a clock. This applies only while the
 * fault has an effect: at any other time such a row is wrong.
 */
import { MAX_STANDSTILL_MS } from '../../src/venues/venue-clock.ts'
import type { Slack } from '../predictions/compare.ts'
import { clockErrorOf } from './common-faults.ts'
import type { ScheduledFault } from './schedule.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Frames in transit at the end of a fault still arrive, and books that did not change are sampled once a minute. */
const AFTERWARDS_MS = 65_000
const BEFORE_MS = 5_000
const POLLED_MS = 500

/** Faults that lose single frames of a healthy socket. */
export const LOSSES: readonly string[] = ['mute', 'skip', 'late', 'reorder', 'frozen-book']
/** The channels of books. */
const LOST_CHANNELS: readonly string[] = ['price_change', 'book']

export function createSlack(
  time: VirtualTime,
  options: {
    /**
     * For frames without numbers: how long until a book that lost a frame is found wrong by its next comparison with
     * the venue's own. Before that, the venue gives no means to prove the book right or wrong.
     */
    readonly provenWithinMs?: number | undefined
    /** The channels that lose frames, and the faults that cause it; by default those of books. */
    readonly channels?: readonly string[]
    readonly losses?: readonly string[]
    /** A venue that hangs for less than this long loses frames, and nobody can notice its silence. By default never. */
    readonly unnoticedMs?: number
    /**
     * Whether rows come from polled answers: such a row is as old as the time its answer took, and an answer for an
     * earlier time cannot be recognised. By default never.
     */
    readonly isPolledAt?: (atMs: number) => boolean
  } = {},
) {
  const { isPolledAt = () => false, channels = LOST_CHANNELS, losses = LOSSES, unnoticedMs = 0 } = options
  const disturbed: (Slack & { fromMs: number; toMs: number; isOfAnswers?: boolean })[] = []
  return {
    begin(fault: ScheduledFault): void {
      const { kind, durationMs, settings } = fault
      const { provenWithinMs } = options
      const isOfThese = settings.channel === undefined || channels.includes(String(settings.channel))
      const isLoss = losses.includes(kind) || (kind === 'hang' && durationMs < unnoticedMs)
      if (provenWithinMs !== undefined && isLoss && isOfThese)
        disturbed.push({
          fromMs: time.nowMs - BEFORE_MS,
          toMs: time.nowMs + durationMs + Number(settings.delayMs ?? 0) + provenWithinMs,
          ...{ behindMs: 0, aheadMs: 0, isUnproven: true },
        })
      const lateMs = latenessOf(kind, durationMs, settings)
      const skewMs = clockErrorOf(fault)
      if (lateMs === 0 && skewMs === 0) return
      disturbed.push({
        fromMs: time.nowMs - BEFORE_MS,
        toMs: time.nowMs + durationMs + lateMs + AFTERWARDS_MS,
        behindMs: lateMs + skewMs,
        aheadMs: skewMs,
        isOfAnswers: kind === 'stale',
      })
    },
    at(atMs: number): Slack {
      const isPolled = isPolledAt(atMs)
      let behindMs = isPolled ? POLLED_MS : 0
      let aheadMs = 0
      let isUnproven = false
      for (const each of disturbed) {
        if (atMs < each.fromMs || atMs >= each.toMs) continue
        if (each.isOfAnswers === true && !isPolled) continue
        behindMs += each.behindMs
        aheadMs += each.aheadMs
        isUnproven ||= each.isUnproven === true
      }
      // One grid point more, because late changes belong to the next one.
      return { behindMs: behindMs === 0 ? 0 : behindMs + 1_000, aheadMs, isUnproven }
    },
  }
}

function latenessOf(kind: string, durationMs: number, settings: ScheduledFault['settings']): number {
  if (kind === 'stall') return durationMs
  if (kind === 'pause') return Math.min(durationMs, MAX_STANDSTILL_MS)
  if (kind === 'slow') return Number(settings.slowMs)
  return kind === 'late' || kind === 'stale' ? Number(settings.delayMs) : 0
}
