/**
 * Best bid and ask per second. The row of a second is its newest quote by the venue's number, because frames may arrive
 * out of order. The row is taken half a second after the end of the second, and not before a quote of a later second:
 * until then the connection may have stalled, with quotes of this second in it. A quote that was overtaken for longer
 * corrects the row. Coverage ends before the first second that waits, because its row would be lost with the process.
 */
import type { TickerInput } from '../../core/rows/ticker.ts'
import type { BestBidAskObservation } from '../../venues/observation.ts'
import { MAX_OVERTAKEN_MS } from '../../venues/plausible-bounds.ts'

const SECOND_MS = 1_000
const TAKEN_AFTER_MS = SECOND_MS + SECOND_MS / 2
/** Quotes later than this are ignored: their time is almost final, or already known as a silence. */
const LATE_MS = MAX_OVERTAKEN_MS
/** How many seconds may wait while the store fails and nothing is taken. */
const MAX_QUOTES = 600

interface Quote {
  readonly bid: readonly [string, string]
  readonly ask: readonly [string, string]
  /** The venue's update number of the book, which only grows. */
  readonly update: number
}

export class TickerSampler {
  private readonly quotes = new Map<number, Quote>()
  private takenToMs = 0
  /** The latest seconds that were taken or dropped, with the update of the row; none corrects a dropped one. */
  private readonly taken = new Map<number, number>()
  private lost: { fromMs: number; toMs: number } | undefined
  /**
   * How much later than the venue's time the last quote arrived by our clock, which may be wrong in either direction.
   */
  private lagMs = 0
  /** The newest time of a quote. */
  private newestMs = Number.NEGATIVE_INFINITY

  received({ venueTimeMs, receivedMs, bid, ask, updateId }: BestBidAskObservation): void {
    if (bid === null || ask === null) return
    this.lagMs = receivedMs - venueTimeMs
    this.newestMs = Math.max(this.newestMs, venueTimeMs)
    const second = Math.floor(venueTimeMs / SECOND_MS) * SECOND_MS
    if (second < this.takenToMs && receivedMs - venueTimeMs > LATE_MS) return
    const update = updateId ?? Number.POSITIVE_INFINITY
    if (update <= (this.taken.get(second) ?? Number.NEGATIVE_INFINITY)) return
    for (const [at, quote] of this.quotes) if (at <= second && update < quote.update) return
    this.quotes.set(second, { bid: [bid[0], bid[1]], ask: [ask[0], ask[1]], update })
    if (this.quotes.size > MAX_QUOTES) this.drop(Math.min(...this.quotes.keys()))
  }

  /** The time whose quotes were dropped; undefined if none was since the last call. */
  takeLost(): { fromMs: number; toMs: number } | undefined {
    const { lost } = this
    this.lost = undefined
    return lost
  }

  /** The first second whose row has not been taken yet. */
  get waitingMs(): number {
    let waitingMs = Number.POSITIVE_INFINITY
    for (const second of this.quotes.keys()) waitingMs = Math.min(waitingMs, second)
    return waitingMs
  }

  /** The rows of the seconds that are over. */
  take(nowMs: number): TickerInput[] {
    return this.takeUntil(Math.min(nowMs - this.lagMs - TAKEN_AFTER_MS, this.newestMs - SECOND_MS))
  }

  /** The connection was lost at this instant of the venue's time: returns the rows of the seconds before it. */
  cut(atMs: number): TickerInput[] {
    return this.takeUntil(atMs - SECOND_MS)
  }

  private takeUntil(lastMs: number): TickerInput[] {
    const rows: TickerInput[] = []
    for (const [second, { bid, ask, update }] of this.quotes) {
      if (second > lastMs) continue
      this.quotes.delete(second)
      this.takenToMs = Math.max(this.takenToMs, second + SECOND_MS)
      this.remember(second, update)
      rows.push({ time: second, bidPrice: bid[0], bidSize: bid[1], askPrice: ask[0], askSize: ask[1] })
    }
    return rows
  }

  private remember(second: number, update: number): void {
    this.taken.set(second, update)
    for (const oldest of this.taken.keys()) {
      if (oldest >= this.takenToMs - 2 * LATE_MS) break
      this.taken.delete(oldest)
    }
  }

  private drop(second: number): void {
    this.quotes.delete(second)
    this.remember(second, Number.POSITIVE_INFINITY)
    this.takenToMs = Math.max(this.takenToMs, second + SECOND_MS)
    this.lost = { fromMs: Math.min(this.lost?.fromMs ?? second, second), toMs: this.takenToMs }
  }
}
