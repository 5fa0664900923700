/**
 * The venue's clock, as far as we know it. Ours may be seconds off, and whether a candle is closed
 * depends on theirs.
 */
import type { Clock } from '../../kit/clock.ts'

interface ServerTime {
  readonly venueMs: number
  /** Venue clock minus our clock, taken at half of the round trip. */
  readonly offsetMs: number
  readonly roundTripMs: number
}

const VENUE_TIME_KEPT_MS = 60_000

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
    askedMs = clock.now()
    offsetMs = Math.round(venueMs + roundTripMs / 2 - askedMs)
    return { venueMs, offsetMs, roundTripMs }
  }

  return {
    /** Asks now. */
    request: ask,
    /** The venue's present, from an answer of at most a minute ago. */
    async now(signal: AbortSignal): Promise<number> {
      if (clock.now() - askedMs > VENUE_TIME_KEPT_MS) await ask(signal)
      return clock.now() + offsetMs
    },
  }
}
