/**
 * The venue's clock, as far as we know it. Ours may be seconds off, and whether a candle is closed
 * depends on theirs.
 */
import type { Clock } from '../../kit/clock.ts'
import { VenueError } from './rest-client.ts'

interface ServerTime {
  readonly venueMs: number
  /** Venue clock minus our clock, taken at half of the round trip. */
  readonly offsetMs: number
  readonly roundTripMs: number
}

const VENUE_TIME_KEPT_MS = 60_000
/** Further from our clock it is no time of now: with one in microseconds all of the past would be too old to request. */
const MAX_OFFSET_MS = 3_600_000

export type VenueTime = ReturnType<typeof createVenueTime>

export function createVenueTime(options: {
  clock: Clock
  askVenue: (signal: AbortSignal) => Promise<{ venueMs: number; roundTripMs: number }>
}) {
  const { clock } = options
  let offsetMs = 0
  let askedMs = Number.NEGATIVE_INFINITY

  async function ask(signal: AbortSignal): Promise<ServerTime> {
    const { venueMs, roundTripMs } = await options.askVenue(signal)
    return { venueMs, offsetMs: Math.round(venueMs + roundTripMs / 2 - clock.now()), roundTripMs }
  }

  return {
    /** Asks now. */
    request: ask,
    /** The venue's present, from an answer of at most a minute ago. */
    async now(signal: AbortSignal): Promise<number> {
      if (clock.now() - askedMs > VENUE_TIME_KEPT_MS) {
        const reported = await ask(signal)
        if (!(Math.abs(reported.offsetMs) <= MAX_OFFSET_MS))
          throw new VenueError(`the venue's time is ${reported.offsetMs} ms from ours`, { isFinal: false })
        askedMs = clock.now()
        offsetMs = reported.offsetMs
      }
      return clock.now() + offsetMs
    },
  }
}
