/**
 * The venue's clock, as far as we know it. Ours may be seconds off, and whether a candle is closed depends on the
 * venue's.
 */
import { type Clock, elapsedMs } from '../../kit/clock.ts'
import { VenueError } from './rest-client.ts'

interface ServerTime {
  readonly venueMs: number
  /** Venue clock minus our clock, assuming the venue answered in the middle of the round trip. */
  readonly offsetMs: number
  readonly roundTripMs: number
}

const VENUE_TIME_KEPT_MS = 60_000
/** If our clock moved by more than this against the elapsed time, it was set and the known offset is invalid. */
const MIN_STEP_MS = 500
/**
 * An offset above this cannot be the present time. With a time in microseconds, all history would seem too old to
 * request.
 */
const MAX_OFFSET_MS = 3_600_000

export type VenueTime = ReturnType<typeof createVenueTime>

export function createVenueTime(options: {
  clock: Clock
  askVenue: (signal: AbortSignal) => Promise<{ venueMs: number; roundTripMs: number }>
}) {
  const { clock } = options
  let offsetMs = 0
  let askedMs = Number.NEGATIVE_INFINITY
  let clockOffsetMs = 0

  async function ask(signal: AbortSignal): Promise<ServerTime> {
    const { venueMs, roundTripMs } = await options.askVenue(signal)
    return { venueMs, offsetMs: Math.round(venueMs + roundTripMs / 2 - clock.now()), roundTripMs }
  }

  return {
    /** Asks the venue now. */
    request: ask,
    /** The venue's present time, from an answer at most a minute old. */
    async now(signal: AbortSignal): Promise<number> {
      const wasSet = Math.abs(clock.now() - elapsedMs(clock) - clockOffsetMs) > MIN_STEP_MS
      if (wasSet || elapsedMs(clock) - askedMs > VENUE_TIME_KEPT_MS) {
        const reported = await ask(signal)
        if (!(Math.abs(reported.offsetMs) <= MAX_OFFSET_MS))
          throw new VenueError(`the venue's time is ${reported.offsetMs} ms from ours`, { isFinal: false })
        askedMs = elapsedMs(clock)
        clockOffsetMs = clock.now() - askedMs
        offsetMs = reported.offsetMs
      }
      return clock.now() + offsetMs
    },
  }
}
