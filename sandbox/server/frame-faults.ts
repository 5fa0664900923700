/**
 * The stage before the sockets where frames are lost, sent twice, delayed, swapped, cut or made up:
 *
 *   frame ─▶ frozen? muted? hung? skipped? ─▶ made-up ones before it? ─▶ cut in the middle? unfit? ─▶ late?
 *                                                                  ─▶ swapped with the next? ─▶ sent (twice?)
 */
import type { AssetSymbol } from '../../src/core/symbol.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { Fault, FaultSwitches, FaultVenue } from './faults.ts'
import { unfitValue } from './unfit-value.ts'
import { wrongTime } from './wrong-time.ts'

export interface VenueFrame {
  /** Frames of the same stream keep their order. */
  readonly stream?: string
  readonly symbol?: AssetSymbol | undefined
  /** Kind of stream, event type or topic. */
  readonly channel: string
  readonly text: string
  /** The final update of a closed candle. */
  readonly isClose?: boolean
  /** Of a candle without a trade. */
  readonly isQuiet?: boolean
  /** A change of a book, or a trade; not sent while the book is frozen. */
  readonly isMarket?: boolean
  readonly isBroken?: boolean
  /** For a frame with trades: the same frame with one made-up trade of size 0. */
  readonly zeroFill?: () => string
}

export type Deliver<F extends VenueFrame> = (frame: F) => void

const LATE_MS = 3_000

export function createFrameFaults<F extends VenueFrame>(options: {
  venue: FaultVenue
  faults: FaultSwitches
  clock: Clock
  signal: AbortSignal
  deliver: Deliver<F>
  /** A message of an unknown type, in this venue's form. */
  unknownText: string
}): Deliver<F> {
  const { venue, faults, clock, deliver } = options
  /** Frames waiting for their successor, at most one per stream. */
  const held = new Map<string, F>()

  function deliverLater(frame: F, { delayMs = LATE_MS }: Fault): void {
    clock.sleep(delayMs, options.signal).then(
      () => deliver(frame),
      () => undefined,
    )
  }

  /** Counts as a hit only if the frame has a price, or a time. */
  function spoil(frame: F): F {
    const unfit = faults.find('unfit-value', venue, frame)
    const wrong = faults.find('wrong-time', venue, frame)
    const price = spoiled(frame, unfit, unfitValue)
    return spoiled(price, wrong, (text) => wrongTime(text, wrong?.offsetMs))
  }

  function spoiled(frame: F, fault: Fault | undefined, change: (text: string) => string | undefined): F {
    const text = fault === undefined ? undefined : change(frame.text)
    if (fault === undefined || text === undefined) return frame
    fault.hits++
    return { ...frame, text }
  }

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
    if (frame.isQuiet === true && faults.hit('late-quiet', venue, frame)) return
    if (frame.isClose === true) {
      if (faults.hit('missing-close', venue, frame)) return
      const late = faults.hit('late-close', venue, frame)
      if (late !== undefined) return deliverLater(frame, late)
    }
    if (faults.hit('unknown-message', venue, frame)) deliver({ ...frame, text: options.unknownText })
    if (frame.zeroFill !== undefined && faults.hit('zero-fill', venue, frame))
      deliver({ ...frame, text: frame.zeroFill() })
    const sent = faults.hit('malformed', venue, frame) ? { ...frame, isBroken: true } : spoil(frame)
    const late = faults.hit('late', venue, frame)
    if (late !== undefined) return deliverLater(sent, late)
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
