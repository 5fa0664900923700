/**
 * The stage in front of the sockets where frames are lost, sent twice, delayed, swapped or cut:
 *
 *   frame ─▶ frozen? muted? hung? skipped? ─▶ late? ─▶ cut in the middle? ─▶ swapped with the next? ─▶ sent (twice?)
 */
import type { AssetSymbol } from '../../src/core/symbol.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { FaultSwitches, FaultVenue } from './faults.ts'

export interface VenueFrame {
  /** Frames of the same stream keep their order. */
  readonly stream?: string
  readonly symbol?: AssetSymbol | undefined
  /** Kind of stream, event type or topic. */
  readonly channel: string
  readonly text: string
  /** The final update of a closed candle. */
  readonly isClose?: boolean
  /** A change of a book or a trade: stops while the book is frozen. */
  readonly isMarket?: boolean
  readonly isBroken?: boolean
}

export type Deliver<F extends VenueFrame> = (frame: F) => void

const LATE_CLOSE_MS = 3_000

export function createFrameFaults<F extends VenueFrame>(options: {
  venue: FaultVenue
  faults: FaultSwitches
  clock: Clock
  signal: AbortSignal
  deliver: Deliver<F>
}): Deliver<F> {
  const { venue, faults, clock, deliver } = options
  /** Frames waiting for their successor, at most one per stream. */
  const held = new Map<string, F>()

  return (frame) => {
    if (faults.list().length === 0 && held.size === 0) return deliver(frame)
    const stream = frame.stream ?? ''
    const waiting = held.get(stream)
    if (
      (frame.isMarket === true ? faults.hit('frozen-book', venue, frame) : undefined) ??
      faults.hit('mute', venue, frame) ??
      faults.hit('hang', venue, frame) ??
      faults.hit('skip', venue, frame)
    )
      return
    if (frame.isClose === true) {
      if (faults.hit('missing-close', venue, frame)) return
      const late = faults.hit('late-close', venue, frame)
      if (late !== undefined) {
        clock.sleep(late.delayMs ?? LATE_CLOSE_MS, options.signal).then(
          () => deliver(frame),
          () => undefined,
        )
        return
      }
    }
    const sent = faults.hit('malformed', venue, frame) ? { ...frame, isBroken: true } : frame
    if (waiting !== undefined) {
      held.delete(stream)
      deliver(sent)
      deliver(waiting)
      return
    }
    if (faults.hit('reorder', venue, frame)) {
      held.set(stream, sent)
      return
    }
    deliver(sent)
    if (faults.hit('duplicate', venue, frame)) deliver(sent)
  }
}
