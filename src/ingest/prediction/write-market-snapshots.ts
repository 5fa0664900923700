/** Snapshots of one market: its books on the grid, with the figures that were known at each instant. */
import { anyMidOf, type MidSample, midOf } from '../../core/market-candles.ts'
import { composeUpDown, composeYesNo } from '../../core/market-snapshot.ts'
import { OrderBook } from '../../core/order-book.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { DataObservation, MarketTickerObservation } from '../../venues/observation.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { LatestBefore } from './latest-before.ts'
import { type PredictionPlan, snapshotFeed } from './market-feeds.ts'
import { type MarketWindow, SAMPLE_BEFORE_MS } from './market-times.ts'
import { MarketSampler } from './sample-market.ts'

export interface LastTrade {
  readonly timeMs: number
  readonly price: string
}

interface SnapshotWriterOptions {
  readonly plan: PredictionPlan
  readonly instruments: readonly string[]
  /** The market as it is known now. */
  readonly market: () => MarketInput
  /** The end of the window may move. */
  readonly window: MarketWindow
  readonly writer: Pick<RowWriter, 'put'>
  readonly lastTrade: (instrument: string, timeMs: number) => LastTrade | undefined
  /** Trades before this instant may have been lost. */
  readonly missedToMs: () => number
  /** The price of the asset at an instant. */
  readonly referencePrice: (timeMs: number) => string | null
  /** Until when the books of all markets of the symbol were received. */
  readonly booksReceivedToMs: () => number
  /** Takes the midpoint of a book that was written. */
  readonly onMid: (instrument: string, sample: MidSample) => void
}

export class MarketSnapshotWriter {
  readonly sampler: MarketSampler
  readonly #options: SnapshotWriterOptions
  readonly #figures = new LatestBefore<
    Pick<MarketTickerObservation, 'venueTimeMs' | 'lastPrice' | 'volume' | 'openInterest'>
  >()
  /** The books of the last row, in the order of the instruments; not valid after a loss. */
  readonly #written: OrderBook[] = []
  #isWritten = false

  constructor(options: SnapshotWriterOptions) {
    this.#options = options
    this.sampler = new MarketSampler({
      instruments: options.instruments,
      fromMs: options.window.startMs - SAMPLE_BEFORE_MS,
      toMs: () => options.window.endMs,
      receivedToMs: options.booksReceivedToMs,
      onSample: (gridMs, isCarried) => this.#write(gridMs, isCarried),
    })
  }

  /** Takes books and figures; everything else is ignored. */
  observe(observation: DataObservation): void {
    switch (observation.kind) {
      case 'book_snapshot':
        this.sampler.snapshot(observation)
        break
      case 'book_delta':
        this.sampler.change(observation)
        break
      case 'book_lost':
        this.sampler.lost(observation)
        this.#isWritten = false
        break
      case 'market_ticker':
        this.#figures.received(observation.venueTimeMs, observation)
    }
  }

  #write(gridMs: number, isCarried: boolean): boolean {
    const { plan, instruments, writer } = this.#options
    const { startMs, endMs } = this.#options.window
    if (gridMs < startMs - SAMPLE_BEFORE_MS || gridMs > endMs) return false
    if (!isCarried && this.#isAsWritten()) return false
    const row = this.#compose(gridMs)
    if (row === undefined) return false
    const { symbol, marketType } = this.#options.market()
    writer.put(snapshotFeed(plan, symbol, marketType ?? '24h'), [row])
    for (const [place, instrument] of instruments.entries()) {
      const book = this.sampler.book(instrument)
      if (book === undefined) continue
      this.#written[place] ??= new OrderBook()
      this.#written[place].copyFrom(book)
      this.#reportMid(instrument, book, gridMs)
    }
    this.#isWritten = true
    return true
  }

  #isAsWritten(): boolean {
    if (!this.#isWritten) return false
    return this.#options.instruments.every((instrument, place) => {
      const [book, written] = [this.sampler.book(instrument), this.#written[place]]
      return book !== undefined && written?.isSameAs(book) === true
    })
  }

  #compose(timeMs: number) {
    const { plan, instruments, lastTrade } = this.#options
    const { marketId, slug, question } = this.#options.market()
    const [first = '', second = ''] = instruments
    const book = this.sampler.book(first)
    if (book === undefined) return undefined
    if (!plan.hasTokens) {
      const known = this.#figures.at(timeMs)
      return composeYesNo(timeMs, {
        ticker: marketId,
        book,
        lastPrice: this.#lastPrice(lastTrade(first, timeMs), known),
        volume: known?.volume ?? null,
        openInterest: known?.openInterest ?? null,
      })
    }
    const down = this.sampler.book(second)
    if (down === undefined) return undefined
    return composeUpDown(timeMs, {
      marketId,
      slug: slug ?? null,
      question: question ?? null,
      tokenUp: first,
      tokenDown: second,
      up: book,
      down,
      lastUp: lastTrade(first, timeMs)?.price ?? null,
      lastDown: lastTrade(second, timeMs)?.price ?? null,
      referencePrice: this.#options.referencePrice(timeMs),
    })
  }

  /** A trade after the last known one may have been lost, but is in the venue's newer figure. */
  #lastPrice(
    last: LastTrade | undefined,
    known: Pick<MarketTickerObservation, 'venueTimeMs' | 'lastPrice'> | undefined,
  ): string | null {
    const figure = known?.lastPrice ?? null
    if (last === undefined || known === undefined) return last?.price ?? figure
    const isOutdated = last.timeMs < this.#options.missedToMs() && last.timeMs < known.venueTimeMs
    return isOutdated ? (figure ?? last.price) : last.price
  }

  #reportMid(instrument: string, book: OrderBook, timeMs: number): void {
    // The midpoint of a wide book is not a price of a token; for a contract, the venue's own candles use it too.
    const price = (this.#options.plan.hasTokens ? midOf : anyMidOf)(book.best('bids'), book.best('asks'))
    if (price !== null) this.#options.onMid(instrument, { timeMs, price })
  }
}
