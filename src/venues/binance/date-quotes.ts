/**
 * Spot quotes carry no time. Other frames of the same socket do (`E`, when the venue sent them), and frames keep their
 * order, so a quote was sent between the dated frame before it and the one after it. Right after a dated frame, a quote
 * gets that frame's time plus the time since. Later, the connection may have stalled in between, so the quote waits for
 * the next dated frame, which comes within a second. Our own clock, however wrong, only measures the short time between
 * frames.
 *
 *   E ──────── quote ──────── E'          E + (received − received at E) or E' − (received at E' − received),
 *                                         whichever is later, not after E'
 *
 * The later one comes from the frame that took less time on its way; the other one may have stalled.
 *
 * A frame that is older than the one before it was overtaken and dates nothing. If no newer frame has come for a
 * moment, the venue's clock was set back.
 */
import type { BestBidAskObservation } from '../observation.ts'

/** A quote this soon after a dated frame does not wait for the next one; its time is wrong by no more than this. */
const MAX_AGE_MS = 100
/** Quotes wait no longer than this if nothing else arrives on the socket. */
const MAX_WAIT_MS = 5_000
/** An older frame counts as overtaken only within this time after the newest one arrived. */
const MAX_OVERTAKEN_MS = 500
/** The most that counts as waiting between two quotes, because our clock may be set forward. */
const MAX_STEP_MS = 1_000
const MAX_WAITING_QUOTES = 4_096
/** Plausible range in milliseconds; a time outside of it is in another unit. */
const FIRST_MS = Date.UTC(2010, 0, 1)
const LAST_MS = Date.UTC(2100, 0, 1)

export function createQuoteDater() {
  let last: { eventMs: number; receivedMs: number } | undefined
  let waiting: BestBidAskObservation[] = []
  let waitedMs = 0

  function isOvertaken(eventMs: number, receivedMs: number): boolean {
    if (last === undefined || eventMs >= last.eventMs) return false
    const ageMs = receivedMs - last.receivedMs
    return ageMs >= 0 && ageMs <= MAX_OVERTAKEN_MS
  }

  /**
   * Released quotes count as received now, so that a channel that was silent is up from now on, not from their arrival.
   */
  function release(next: Mark, nowMs: number): BestBidAskObservation[] {
    const released = waiting.map((quote) => ({
      ...quote,
      venueTimeMs: timeOf(quote.receivedMs, last, next),
      receivedMs: nowMs,
    }))
    waiting = []
    return released
  }

  return {
    /** Takes a quote without a time. Returns it with one, or the waiting quotes once they have waited too long. */
    quote(quote: BestBidAskObservation): BestBidAskObservation[] {
      const ageMs = last === undefined ? Number.NaN : quote.receivedMs - last.receivedMs
      if (waiting.length === 0 && ageMs >= 0 && ageMs <= MAX_AGE_MS)
        return [{ ...quote, venueTimeMs: timeOf(quote.receivedMs, last, undefined) }]
      const sinceMs = quote.receivedMs - (waiting.at(-1)?.receivedMs ?? quote.receivedMs)
      waitedMs = waiting.length === 0 ? 0 : waitedMs + Math.min(Math.max(0, sinceMs), MAX_STEP_MS)
      waiting.push(quote)
      return waitedMs > MAX_WAIT_MS || waiting.length > MAX_WAITING_QUOTES
        ? release(undefined, quote.receivedMs)
        : []
    },
    /** A frame arrived with the time at which it was sent. Returns the quotes before it, with their times. */
    dated(eventMs: number, receivedMs: number): BestBidAskObservation[] {
      if (!(eventMs >= FIRST_MS && eventMs < LAST_MS) || isOvertaken(eventMs, receivedMs)) return []
      const next = { eventMs, receivedMs }
      const released = waiting.length === 0 ? waiting : release(next, receivedMs)
      last = next
      return released
    },
  }
}

type Mark = { readonly eventMs: number; readonly receivedMs: number } | undefined

function timeOf(receivedMs: number, before: Mark, after: Mark): number {
  if (before === undefined)
    return after === undefined ? receivedMs : after.eventMs - Math.max(0, after.receivedMs - receivedMs)
  const sinceMs = before.eventMs + Math.max(0, receivedMs - before.receivedMs)
  if (after === undefined) return sinceMs
  const untilMs = after.eventMs - Math.max(0, after.receivedMs - receivedMs)
  // Streams are not synchronised to the millisecond, so the frame after the quote may have a slightly earlier time.
  return Math.min(Math.max(sinceMs, untilMs), Math.max(before.eventMs, after.eventMs))
}
