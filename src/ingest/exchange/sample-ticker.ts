/**
 * Best bid and ask per second. The row of a second is its newest quote by the venue's number, since frames may arrive
 * out of order; it is taken half a second after its end, and a later quote changes nothing. A second of which every quote
 * was late has its row when they come. Nothing from the first second that waits is claimed: its row would be lost with
 * the process.
 */
import type { TickerInput } from '../../core/rows/ticker.ts'
import type { BestBidAskObservation } from '../../venues/observation.ts'
import { MAX_OVERTAKEN_MS } from '../../venues/plausible-bounds.ts'

const SECOND_MS = 1_000
const TAKEN_AFTER_MS = SECOND_MS + SECOND_MS / 2
/** Later quotes are of no use: their time is almost final, or known as a silence. */
const LATE_MS = MAX_OVERTAKEN_MS
/** While the store fails nothing is taken: so many seconds wait for it. */
const MAX_QUOTES = 600

interface Quote {
  readonly bid: readonly [string, string]
  readonly ask: readonly [string, string]
  /** The venue's number of the book, which grows. */
  readonly update: number
}

export class TickerSampler {
  private readonly quotes = new Map<number, Quote>()
  private takenToMs = 0
  /** The last seconds that have a row. */
  private readonly taken = new Set<number>()
  private lost: { fromMs: number; toMs: number } | undefined
  /** How much later than the venue's time a quote arrived by our clock, which may be wrong in both directions. */
  private lagMs = 0

  received({ venueTimeMs, receivedMs, bid, ask, updateId }: BestBidAskObservation): void {
    if (bid === null || ask === null) return
    this.lagMs = receivedMs - venueTimeMs
    const second = Math.floor(venueTimeMs / SECOND_MS) * SECOND_MS
    if (second < this.takenToMs && (this.taken.has(second) || receivedMs - venueTimeMs > LATE_MS)) return
    const update = updateId ?? Number.POSITIVE_INFINITY
    for (const [at, quote] of this.quotes) if (at <= second && update < quote.update) return
    this.quotes.set(second, { bid: [bid[0], bid[1]], ask: [ask[0], ask[1]], update })
    if (this.quotes.size > MAX_QUOTES) this.drop(Math.min(...this.quotes.keys()))
  }

  /** The time of which quotes were dropped; undefined if there is none since the last call. */
  takeLost(): { fromMs: number; toMs: number } | undefined {
    const { lost } = this
    this.lost = undefined
    return lost
  }

  /** The first second whose row is not taken yet. */
  get waitingMs(): number {
    let waitingMs = Number.POSITIVE_INFINITY
    for (const second of this.quotes.keys()) waitingMs = Math.min(waitingMs, second)
    return waitingMs
  }

  /** The rows of the seconds that are over. */
  take(nowMs: number): TickerInput[] {
    return this.takeUntil(nowMs - this.lagMs - TAKEN_AFTER_MS)
  }

  /** The connection was lost at an instant of the venue: the rows of the seconds before it. */
  cut(atMs: number): TickerInput[] {
    return this.takeUntil(atMs - SECOND_MS)
  }

  private takeUntil(lastMs: number): TickerInput[] {
    const rows: TickerInput[] = []
    for (const [second, { bid, ask }] of this.quotes) {
      if (second > lastMs) continue
      this.quotes.delete(second)
      this.takenToMs = Math.max(this.takenToMs, second + SECOND_MS)
      this.remember(second)
      rows.push({ time: second, bidPrice: bid[0], bidSize: bid[1], askPrice: ask[0], askSize: ask[1] })
    }
    return rows
  }

  private remember(second: number): void {
    this.taken.add(second)
    for (const oldest of this.taken) {
      if (oldest >= this.takenToMs - 2 * LATE_MS) break
      this.taken.delete(oldest)
    }
  }

  private drop(second: number): void {
    this.quotes.delete(second)
    this.remember(second)
    this.takenToMs = Math.max(this.takenToMs, second + SECOND_MS)
    this.lost = { fromMs: Math.min(this.lost?.fromMs ?? second, second), toMs: this.takenToMs }
  }
}
