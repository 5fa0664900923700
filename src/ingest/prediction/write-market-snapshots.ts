/** Snapshots of one market: its books on the grid, with the figures that were known at each instant. */
import type { Feed } from '../../core/feed.ts'
import { anyMidOf, type MidSample, midOf } from '../../core/market-candles.ts'
import { composeUpDown, composeYesNo } from '../../core/market-snapshot.ts'
import type { MicroBook } from '../../core/micro-book.ts'
import type { OrderBook } from '../../core/order-book.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { DataObservation, MarketTickerObservation } from '../../venues/observation.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { createLatestBefore } from './latest-before.ts'
import { type PredictionPlan, snapshotFeed } from './market-feeds.ts'
import { SAMPLE_BEFORE_MS, windowOf } from './market-times.ts'
import { type MarketSampler, sampleMarket } from './sample-market.ts'

export interface MarketSnapshotWriter {
  readonly sampler: MarketSampler
  /** Books and figures; anything else is ignored. */
  observe(observation: DataObservation): void
}

export function createMarketSnapshotWriter(options: {
  plan: PredictionPlan
  instruments: readonly string[]
  /** As it is known now. */
  market: () => MarketInput
  writer: Pick<RowWriter, 'put'>
  lastPrice: (instrument: string, timeMs: number) => string | null
  /** The price of the asset at an instant. */
  referencePrice: (timeMs: number) => string | null
  /** When a book of any market of the symbol was last received. */
  lastBookMs: () => number
  /** The middle of a book that was written. */
  onMid: (instrument: string, sample: MidSample) => void
}): MarketSnapshotWriter {
  const { plan, instruments, writer, lastPrice } = options
  const { symbol, marketType } = options.market()
  const { startMs, endMs } = windowOf(options.market())
  const feed: Feed<'snapshots'> = snapshotFeed(plan, symbol, marketType ?? '24h')
  const figures = createLatestBefore<Pick<MarketTickerObservation, 'lastPrice' | 'volume' | 'openInterest'>>()
  /** The books of the last row. */
  let written: readonly MicroBook[] = []

  const sampler = sampleMarket({
    instruments,
    receivedToMs: options.lastBookMs,
    onSample(gridMs, isCarried) {
      if (gridMs < startMs - SAMPLE_BEFORE_MS || gridMs > endMs) return false
      const books = instruments.flatMap((instrument) => sampler.book(instrument) ?? [])
      if (!isCarried && isSame(written, books)) return false
      const row = compose(gridMs)
      if (row === undefined) return false
      written = 'yes' in row ? [row.yes] : [row.up, row.down]
      writer.put(feed, [row])
      for (const instrument of instruments) reportMid(instrument, gridMs)
      return true
    },
  })

  function compose(timeMs: number) {
    const { marketId, slug, question } = options.market()
    const [first = '', second = ''] = instruments
    const book = sampler.book(first)
    if (book === undefined) return undefined
    if (!plan.hasTokens) {
      const known = figures.at(timeMs)
      return composeYesNo(timeMs, {
        ticker: marketId,
        book,
        lastPrice: lastPrice(first, timeMs) ?? known?.lastPrice ?? null,
        volume: known?.volume ?? null,
        openInterest: known?.openInterest ?? null,
      })
    }
    const down = sampler.book(second)
    if (down === undefined) return undefined
    return composeUpDown(timeMs, {
      marketId,
      slug: slug ?? null,
      question: question ?? null,
      tokenUp: first,
      tokenDown: second,
      up: book,
      down,
      lastUp: lastPrice(first, timeMs),
      lastDown: lastPrice(second, timeMs),
      referencePrice: options.referencePrice(timeMs),
    })
  }

  function reportMid(instrument: string, timeMs: number): void {
    const book = sampler.book(instrument)
    if (book === undefined) return
    // The middle of a wide book is no price of a token; for a contract the venue's own candles use it too.
    const price = (plan.hasTokens ? midOf : anyMidOf)(book.best('bids'), book.best('asks'))
    if (price !== null) options.onMid(instrument, { timeMs, price })
  }

  return {
    sampler,
    observe(observation) {
      switch (observation.kind) {
        case 'book_snapshot':
          sampler.snapshot(observation)
          break
        case 'book_delta':
          sampler.change(observation)
          break
        case 'book_lost':
          sampler.lost(observation)
          written = []
          break
        case 'market_ticker':
          figures.received(observation.venueTimeMs, observation)
      }
    },
  }
}

function isSame(before: readonly MicroBook[], after: readonly OrderBook[]): boolean {
  return before.length === after.length && before.every((book, index) => after[index]?.equals(book) === true)
}
