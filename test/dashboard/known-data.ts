/** A little data that a test knows to the last row, written beside a service as a recorder would. */

import type { MarketInput } from '../../src/core/rows/market.ts'
import { gap, observed } from '../../src/store/coverage.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'

const CANDLE_MS = 900_000
const CANDLES = 120
/** Candles that nobody recorded, counted from the oldest. */
export const MISSED_CANDLES = { from: 80, to: 90 } as const
const FUNDING_MS = 8 * 3_600_000
/** Beyond the end of the test, however long it takes: nothing is missing after the last candle either. */
const OBSERVED_AHEAD_MS = 600_000

/** Quarter hours of the futures: BTC with a gap and its funding, ETH without either. */
export async function fillCharts(store: EnvironmentStore, nowMs: number): Promise<void> {
  const firstMs = Math.floor(nowMs / CANDLE_MS - CANDLES + 1) * CANDLE_MS
  const missed = {
    from: firstMs + MISSED_CANDLES.from * CANDLE_MS,
    to: firstMs + MISSED_CANDLES.to * CANDLE_MS,
  }
  const toMs = nowMs + OBSERVED_AHEAD_MS
  for (const symbol of ['BTC', 'ETH'] as const) {
    const feed = { dataset: 'candles', source: 'cexa_futures', symbol, interval: '15m' } as const
    const rows = Array.from({ length: CANDLES }, (_, index) => {
      const time = firstMs + index * CANDLE_MS
      const [open, close] = [60_000 + Math.sin(index / 6) * 900, 60_000 + Math.sin((index + 1) / 6) * 900]
      const [low, high] = [Math.min(open, close) - 90, Math.max(open, close) + 90]
      return { time, open, high, low, close, volume: '12.5', closed: true }
    })
    const recorded = rows.filter(({ time }) => symbol === 'ETH' || time < missed.from || time >= missed.to)
    await store.write({ rows: [{ feed, rows: recorded }] })
    if (symbol === 'BTC') {
      await store.write({ coverage: [observed(feed, firstMs, missed.from)] })
      await store.write({ coverage: [gap(feed, missed.from, missed.to, 'venue_down')] })
      await store.write({ coverage: [observed(feed, missed.to, toMs)] })
    } else await store.write({ coverage: [observed(feed, firstMs, toMs)] })
  }
  const feed = { dataset: 'funding', source: 'cexa_futures', symbol: 'BTC', interval: '' } as const
  const settled = Array.from({ length: 6 }, (_, index) => Math.floor(nowMs / FUNDING_MS - index) * FUNDING_MS)
  const rows = settled.toReversed().map((time, index) => ({
    time,
    fundingRate: index % 2 === 0 ? '0.0001' : '-0.0002',
    nextFundingTime: time + FUNDING_MS,
  }))
  await store.write({ rows: [{ feed, rows }] })
}

/** Two minutes of seconds of the futures on BTC. */
export async function fillSeconds(store: EnvironmentStore, nowMs: number): Promise<void> {
  const feed = { dataset: 'candles', source: 'cexa_futures', symbol: 'BTC', interval: '1s' } as const
  const firstMs = Math.floor(nowMs / 1000 - 120) * 1000
  const rows = Array.from({ length: 120 }, (_, index) => {
    const open = 60_000 + (index % 7)
    return {
      time: firstMs + index * 1000,
      open,
      high: open + 3,
      low: open - 3,
      close: open + 1,
      volume: '1',
      closed: true,
    }
  })
  await store.write({ rows: [{ feed, rows }] })
}

/** The book of the perpetual on BTC, every half second from now until it has been seen. */
export async function fillBooks(
  store: EnvironmentStore,
  nowMs: number,
  levels: { bids: number; asks: number },
): Promise<void> {
  const feed = { dataset: 'snapshots', source: 'perpdex', symbol: 'BTC', interval: '' } as const
  const side = (count: number, step: number) =>
    Array.from({ length: count }, (_, index) => [60_000 + step * (index + 1), 1 + index] as const)
  const rows = Array.from({ length: 20 }, (_, index) => ({
    time: Math.floor(nowMs / 500 + index - 8) * 500,
    book: { bids: side(levels.bids, -1), asks: side(levels.asks, 1) },
  }))
  await store.write({ rows: [{ feed, rows }] })
}

export const OPEN_MARKETS = 60
export const marketId = (index: number) => `0x${index.toString(16).padStart(64, '0')}`
/** One whose book stood still for most of a minute, and one that moved all the time. */
export const QUIET = { index: 3, up: 0.31 } as const
export const BUSY = { index: 4, up: 0.77 } as const

/** Open markets on BTC, ends a minute apart; every third lasts 15 minutes, the others 5. */
export async function fillMarkets(store: EnvironmentStore, nowMs: number): Promise<void> {
  const markets = Array.from({ length: OPEN_MARKETS }, (_, index): MarketInput => {
    const length = index % 3 === 0 ? 15 : 5
    const endTime = Math.floor(nowMs / 60_000 + 30 + index) * 60_000
    return {
      marketId: marketId(index),
      source: 'predmkt_a',
      symbol: 'BTC',
      slug: `btc-updown-${index}`,
      conditionId: marketId(index),
      question: `Bitcoin Up or Down, number ${index}?`,
      marketType: length === 15 ? '15m' : '5m',
      // The two with a price have begun.
      startTime: index === QUIET.index || index === BUSY.index ? nowMs - 60_000 : endTime - length * 60_000,
      endTime,
      active: true,
      status: 'open',
      tokens: [
        { tokenId: `${1_000 + index}`, outcome: 'Up' },
        { tokenId: `${2_000 + index}`, outcome: 'Down' },
      ],
    }
  })
  await store.write({ markets: markets })
  const gridMs = Math.floor(nowMs / 500) * 500
  await store.write({
    rows: [
      snapshots('15m', QUIET, [gridMs - 50_000]),
      snapshots(
        '5m',
        BUSY,
        Array.from({ length: 90 }, (_, i) => gridMs - 45_000 + i * 500),
      ),
    ],
  })
}

function snapshots(
  interval: '5m' | '15m',
  { index, up }: { index: number; up: number },
  times: readonly number[],
) {
  const sides = (mid: number, move: number) => ({
    bids: [[round(mid - 0.01), 10 + move]] as const,
    asks: [[round(mid + 0.01), 20 + move]] as const,
  })
  return {
    feed: { dataset: 'snapshots', source: 'predmkt_a', symbol: 'BTC', interval } as const,
    rows: times.map((time, move) => ({
      time,
      marketId: marketId(index),
      slug: `btc-updown-${index}`,
      question: null,
      tokenUp: `${1_000 + index}`,
      tokenDown: `${2_000 + index}`,
      priceUp: up,
      priceDown: round(1 - up),
      referencePrice: 60_000,
      up: sides(up, move),
      down: sides(1 - up, move),
    })),
  }
}

const round = (value: number) => Math.round(value * 1_000) / 1_000
