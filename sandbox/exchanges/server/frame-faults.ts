/**
 * The stage between a stream and its listeners where frames are lost, doubled, delayed, swapped or broken.
 * One decision per frame, the same for every socket that listens.
 */
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import type { Clock } from '../../../src/kit/clock.ts'
import type { Venue } from '../world/markets.ts'
import type { Faults } from './faults.ts'

export interface Frame {
  /** The name a listener subscribed to. */
  readonly stream: string
  readonly symbol?: AssetSymbol
  readonly channel: string
  /** JSON text of the payload. */
  readonly data: string
  /** The last word on a closed candle. */
  readonly isClose?: boolean
  readonly isBroken?: boolean
}

const LATE_CLOSE_MS = 3_000

export function createFrameFaults(options: {
  venue: Venue
  faults: Faults
  clock: Clock
  signal: AbortSignal
  deliver: (frame: Frame) => void
}): (frame: Frame) => void {
  const { venue, faults, clock, deliver } = options
  /** Frames waiting for their successor, at most one per stream. */
  const held = new Map<string, Frame>()

  return (frame) => {
    const waiting = held.get(frame.stream)
    if (faults.list().length === 0 && waiting === undefined) return deliver(frame)
    if (
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
      held.delete(frame.stream)
      deliver(sent)
      deliver(waiting)
      return
    }
    if (faults.hit('reorder', venue, frame)) {
      held.set(frame.stream, sent)
      return
    }
    deliver(sent)
    if (faults.hit('duplicate', venue, frame)) deliver(sent)
  }
}
