/**
 * A small market history, the same at every run: enough rows of every dataset to fill a default page and to
 * reach beyond every plan's window. Everything before FINAL is observed and final.
 */

import type { Feed } from '../../src/core/feed.ts'
import type { MarketInput } from '../../src/core/rows/market.ts'
import type { FeedRows, RowInputs } from '../../src/core/rows/row-kinds.ts'
import type { Source } from '../../src/core/source.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import { observed } from '../../src/store/coverage.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'

export const MINUTE = 60_000
export const HOUR = 3_600_000
export const DAY = 86_400_000
export const NOW = Date.UTC(2026, 5, 10, 12, 0, 30)
/** Everything before this instant is final. */
export const FINAL = Date.UTC(2026, 5, 10, 12)
/** First candle, trade, flow, funding … of the world. */
export const FIRST = FINAL - 40 * DAY
/** The perpetual venue's books were recorded from here on. */
export const BOOKS_FIRST = FINAL - 35 * DAY
export const BOOKS_LAST = FINAL - 500

export const TOKENS = {
  up: '104173557214744537570424345347209544585775842950109756851652855913015295701992',
  down: '58392017465820193847561029384756102938475610293847561029384756102938475610293',
  up15: '77700000000000000000000000000000000000000000000000000000000000000000000000015',
  down15: '88800000000000000000000000000000000000000000000000000000000000000000000000015',
} as const
export const CONDITION = `0x${'4319'.repeat(16)}`
const CONDITION_15 = `0x${'abcd'.repeat(16)}`
export const SLUG = 'btc-updown-5m-1781092500'
export const GAMMA_NUMBER = '2100345'
export const TICKER = 'KXBTCD-26JUN1013-T61000'
export const ETH_TICKER = 'KXETHD-26JUN1013-T3000'
export const QUESTION = 'Bitcoin "Up", or Down?\nJune 10, 11:55AM-12:00PM ET'

/** The 5-minute market runs from 11:55 to 12:00, the 15-minute one from 11:45 to 12:00. */
const MARKETS: MarketInput[] = [
  {
    marketId: CONDITION,
    source: 'predmkt_a',
    symbol: 'BTC',
    slug: SLUG,
    conditionId: CONDITION,
    eventId: '991',
    question: QUESTION,
    marketType: '5m',
    startTime: FINAL - 5 * MINUTE,
    endTime: FINAL,
    active: false,
    status: 'resolved',
    winner: 'Up',
    resolvedAt: FINAL + 10_000,
    tokens: [
      { tokenId: TOKENS.up, outcome: 'Up' },
      { tokenId: TOKENS.down, outcome: 'Down' },
    ],
    createdAt: FINAL - DAY,
    updatedAt: FINAL + 10_000,
    tags: ['Crypto', 'Up or Down'],
    volume: '15234.2',
    aliases: [GAMMA_NUMBER],
  },
  {
    marketId: CONDITION_15,
    source: 'predmkt_a',
    symbol: 'BTC',
    slug: 'btc-updown-15m-1781091900',
    conditionId: CONDITION_15,
    question: 'Bitcoin Up or Down - 15 minutes',
    marketType: '15m',
    startTime: FINAL - 15 * MINUTE,
    endTime: FINAL,
    active: true,
    status: 'open',
    tokens: [
      { tokenId: TOKENS.up15, outcome: 'Up' },
      { tokenId: TOKENS.down15, outcome: 'Down' },
    ],
  },
  {
    marketId: TICKER,
    source: 'predmkt_b',
    symbol: 'BTC',
    ticker: TICKER,
    eventId: 'KXBTCD-26JUN1013',
    question: 'Bitcoin above 61000 at 1pm?',
    marketType: '1h',
    startTime: FINAL,
    endTime: FINAL + HOUR,
    active: true,
    status: 'open',
    strike: 61_000,
    openInterest: 1200,
  },
  {
    marketId: 'KXBTCD-26JUN1014-T61000',
    source: 'predmkt_b',
    symbol: 'BTC',
    ticker: 'KXBTCD-26JUN1014-T61000',
    question: 'Bitcoin above 61000 at 2pm?',
    marketType: '1h',
    startTime: FINAL + HOUR,
    endTime: FINAL + 2 * HOUR,
    active: false,
    status: 'open',
  },
  {
    marketId: ETH_TICKER,
    source: 'predmkt_b',
    symbol: 'ETH',
    ticker: ETH_TICKER,
    question: 'Ether above 3000 at 1pm?',
    marketType: '1h',
    startTime: FINAL,
    endTime: FINAL + HOUR,
    active: false,
    status: 'closed',
  },
  ...(['BTC', 'ETH', 'SOL', 'XRP'] as const).map(
    (symbol): MarketInput => ({ marketId: symbol, source: 'perpdex', symbol, active: true, status: 'open' }),
  ),
  ...Array.from(
    { length: 60 },
    (_, i): MarketInput => ({
      marketId: `KXBTCD-OLD-${i}`,
      source: 'predmkt_b',
      symbol: 'BTC',
      ticker: `KXBTCD-OLD-${i}`,
      question: `Old market ${i}`,
      marketType: '1h',
      // Every third one ends together with another: ties are broken by the id.
      startTime: FINAL - (Math.floor(i / 3) + 3) * HOUR,
      endTime: FINAL - (Math.floor(i / 3) + 2) * HOUR,
      active: i % 2 === 0,
      status: 'open',
    }),
  ),
]

const price = (n: number) => 60_000 + Math.round(Math.sin(n / 7) * 100_000) / 100
const chance = (n: number) => Math.round((0.5 + Math.sin(n / 5) * 0.4) * 1000) / 1000

type Candle = RowInputs['candles']
const EXTRAS: Partial<Record<Source, (n: number) => Partial<Candle>>> = {
  cexa: (n) => ({ volume: '12.5', numTrades: n }),
  cexa_futures: (n) => ({
    volume: '99.25',
    numTrades: n,
    takerBuyRatio: '0.512',
    fundingRate: '-0.0001',
    openInterest: '82345.12',
  }),
  perpdex: () => ({ volume: '7', fundingRate: null, openInterest: '411.5' }),
  oracle: () => ({}),
}

function candles(
  source: Source,
  interval: Feed<'candles'>['interval'],
  step: number,
  count: number,
): FeedRows {
  const rows = Array.from({ length: count }, (_, i): Candle => {
    const time = FINAL - (count - i) * step
    const at = price(i)
    return {
      time,
      open: at,
      high: at + 10,
      low: at - 10,
      close: at + 1,
      closed: true,
      ...EXTRAS[source]?.(i),
    }
  })
  return { feed: { dataset: 'candles', source, symbol: 'BTC', interval }, rows }
}

function predictionCandles(source: 'predmkt_a' | 'predmkt_b'): FeedRows[] {
  const legs =
    source === 'predmkt_a'
      ? [
          { marketId: CONDITION, slug: SLUG, tokenId: TOKENS.up, outcome: 'Up', question: QUESTION },
          { marketId: CONDITION, slug: SLUG, tokenId: TOKENS.down, outcome: 'Down', question: QUESTION },
          { marketId: CONDITION_15, tokenId: TOKENS.up15, outcome: 'Up' },
        ]
      : [{ marketId: TICKER, outcome: 'Yes' }, { marketId: 'KXBTCD-OLD-1' }]
  return (
    [
      ['5m', 5 * MINUTE],
      ['15m', 15 * MINUTE],
      ['1h', HOUR],
      ['4h', 4 * HOUR],
      ['1d', DAY],
    ] as const
  ).map(([interval, step]) => ({
    feed: { dataset: 'candles', source, symbol: 'BTC', interval },
    rows: Array.from({ length: 12 }, (_, i) => i).flatMap((i) =>
      legs.map((market): Candle => {
        const at = chance(i)
        const time = Math.floor(FINAL / step - 12 + i) * step
        return { time, open: at, high: at, low: at, close: at, volume: '250.75', closed: true, market }
      }),
    ),
  }))
}

const times = (count: number, step: number) =>
  Array.from({ length: count }, (_, i) => FINAL - (count - i) * step)

function trades(): FeedRows[] {
  const every = 40 * DAY
  return [
    {
      feed: { dataset: 'trades', source: 'perpdex', symbol: 'BTC', interval: '' },
      rows: times(1_000, every / 1_000).map((time, i) => ({
        time,
        seq: 0,
        tradeId: `11890651203${i}`,
        price: price(i),
        size: '0.015',
        side: i % 3 === 0 ? ('sell' as const) : ('buy' as const),
      })),
    },
    {
      feed: { dataset: 'trades', source: 'predmkt_a', symbol: 'BTC', interval: '' },
      rows: times(60, 5_000).flatMap((time, i) =>
        [TOKENS.up, TOKENS.down].map((tokenId, leg) => ({
          time,
          seq: i % 2,
          tradeId: `0x${i}${leg}`,
          price: chance(i),
          size: 10 + i,
          side: 'buy' as const,
          marketId: CONDITION,
          tokenId,
          outcome: leg === 0 ? 'Up' : 'Down',
        })),
      ),
    },
    {
      feed: { dataset: 'trades', source: 'predmkt_b', symbol: 'BTC', interval: '' },
      rows: times(40, 60_000).map((time, i) => ({
        time,
        seq: 0,
        tradeId: `b-${i}`,
        price: chance(i),
        size: 3,
        side: 'sell' as const,
        makerTaker: 'taker' as const,
        marketId: TICKER,
        outcome: 'Yes',
      })),
    },
  ]
}

function flow(): FeedRows[] {
  const intervals = [
    ['5m', 5 * MINUTE, 600],
    ['15m', 15 * MINUTE, 100],
    ['1h', HOUR, 960],
    ['4h', 4 * HOUR, 60],
    ['1d', DAY, 40],
  ] as const
  return intervals.map(([interval, step, count]) => ({
    feed: { dataset: 'flow', source: 'cexa', symbol: 'BTC', interval },
    rows: Array.from({ length: count }, (_, i) => ({
      time: Math.floor(FINAL / step - count + i) * step,
      buyVolume: i % 10 === 0 ? 0 : '12.5',
      sellVolume: '10.25',
      numBuys: i % 4 === 0 ? null : 12,
      numSells: i % 4 === 0 ? null : 10,
      vwapBuy: i % 10 === 0 ? null : price(i),
      vwapSell: price(i),
      closed: true,
    })),
  }))
}

const book = (bid: number, ask: number, levels: number, tick: number) => ({
  bids: Array.from({ length: levels }, (_, i) => [round(bid - i * tick), 1 + i] as const),
  asks: Array.from({ length: levels }, (_, i) => [round(ask + i * tick), 2 + i] as const),
})
const round = (value: number) => Math.round(value * 10_000) / 10_000

function snapshots(): FeedRows[] {
  const upDown = (
    type: '5m' | '15m',
    marketId: string,
    up: string,
    down: string,
    count: number,
  ): FeedRows => ({
    feed: { dataset: 'snapshots', source: 'predmkt_a', symbol: 'BTC', interval: type },
    rows: times(count, 500).map((time, i) => ({
      time,
      marketId,
      slug: type === '5m' ? SLUG : null,
      question: type === '5m' ? QUESTION : null,
      tokenUp: up,
      tokenDown: down,
      priceUp: 0.5,
      priceDown: 0.5,
      referencePrice: price(i),
      up: book(0.48 - (i % 3) * 0.001, 0.52, 14, 0.001),
      down: book(0.47, 0.51, 3, 0.001),
    })),
  })
  return [
    upDown('5m', CONDITION, TOKENS.up, TOKENS.down, 240),
    upDown('15m', CONDITION_15, TOKENS.up15, TOKENS.down15, 240),
    {
      feed: { dataset: 'snapshots', source: 'predmkt_b', symbol: 'BTC', interval: '1h' },
      rows: times(240, 500).flatMap((time, i) =>
        [TICKER, 'KXBTCD-OLD-1'].map((marketId) => ({
          time,
          marketId,
          lastPrice: 0.4,
          volume: 100 + i,
          openInterest: 1200,
          yes: book(0.4, 0.42 + (i % 2) * 0.01, 12, 0.01),
          no: book(0.57, 0.6, 2, 0.01),
        })),
      ),
    },
    {
      feed: { dataset: 'snapshots', source: 'perpdex', symbol: 'BTC', interval: '' },
      rows: [...Array.from({ length: 35 }, (_, day) => BOOKS_FIRST + day * DAY), ...times(240, 500)].map(
        (time, i) => ({ time, book: book(price(i), price(i) + 1, 20, 1) }),
      ),
    },
  ]
}

function openInterest(): FeedRows[] {
  const steps = [
    ['5m', 5 * MINUTE],
    ['15m', 15 * MINUTE],
    ['1h', HOUR],
    ['4h', 4 * HOUR],
    ['1d', DAY],
  ] as const
  return steps.flatMap(([interval, step]) =>
    (['cexa_futures', 'perpdex', 'predmkt_b'] as const).map(
      (source): FeedRows => ({
        feed: { dataset: 'open_interest', source, symbol: 'BTC', interval },
        rows: Array.from({ length: 40 }, (_, i) => Math.floor(FINAL / step - 40 + i) * step).flatMap(
          (time) => [
            { time, openInterest: '82345.12', openInterestUsd: '5042341234.5' },
            ...(source === 'predmkt_b'
              ? [{ time, openInterest: 1200, openInterestUsd: 1200, marketId: TICKER }]
              : []),
          ],
        ),
      }),
    ),
  )
}

function others(): FeedRows[] {
  return [
    {
      feed: { dataset: 'liquidations', source: 'cexa_futures', symbol: 'BTC', interval: '' },
      rows: times(480, 2 * HOUR).map((time, i) => ({
        time: time + 123,
        seq: 0,
        side: i % 4 === 0 ? ('short' as const) : ('long' as const),
        quantity: (i % 50) + 1,
        price: 60_990.1,
        avgPrice: 61_000,
      })),
    },
    {
      feed: { dataset: 'funding', source: 'cexa_futures', symbol: 'BTC', interval: '' },
      rows: Array.from({ length: 120 }, (_, i) => Math.floor(FINAL / (8 * HOUR) - 119 + i) * 8 * HOUR).map(
        (time) => ({ time, fundingRate: '0.0001', nextFundingTime: time + 8 * HOUR }),
      ),
    },
    {
      feed: { dataset: 'funding', source: 'perpdex', symbol: 'BTC', interval: '' },
      rows: times(960, HOUR).map((time) => ({
        time,
        fundingRate: '-0.0000125',
        nextFundingTime: time + HOUR,
      })),
    },
    ...(['cexa', 'cexa_futures'] as const).map(
      (source): FeedRows => ({
        feed: { dataset: 'ticker', source, symbol: 'BTC', interval: '' },
        rows: times(90, 1_000).map((time, i) => ({
          time,
          bidPrice: price(i),
          bidSize: '1.25',
          askPrice: price(i) + 0.01,
          askSize: 0,
        })),
      }),
    ),
  ]
}

export function worldRows(): FeedRows[] {
  const intervals = [
    ['1s', 1_000, 120],
    ['1m', MINUTE, 120],
    ['5m', 5 * MINUTE, 120],
    ['15m', 15 * MINUTE, 120],
    ['1h', HOUR, 960],
    ['4h', 4 * HOUR, 60],
  ] as const
  const plain = (['cexa', 'cexa_futures', 'perpdex'] as const).flatMap((source) => [
    ...intervals.map(([interval, step, count]) => candles(source, interval, step, count)),
    days(source),
  ])
  return [
    ...plain,
    candles('oracle', '5m', 5 * MINUTE, 120),
    candles('oracle', '15m', 15 * MINUTE, 120),
    ...predictionCandles('predmkt_a'),
    ...predictionCandles('predmkt_b'),
    ...trades(),
    ...flow(),
    ...snapshots(),
    ...openInterest(),
    ...others(),
  ]
}

function days(source: Source): FeedRows {
  const { feed, rows } = candles(source, '1d', DAY, 40)
  // FINAL is noon: daily candles begin at midnight.
  return { feed, rows: (rows as Candle[]).map((row) => ({ ...row, time: row.time - DAY / 2 })) } as FeedRows
}

export async function fillWorld(store: EnvironmentStore): Promise<void> {
  await store.write({ markets: MARKETS })
  const batches = worldRows()
  for (const batch of batches) {
    await store.write({
      rows: [batch],
      coverage: [observed(batch.feed, FIRST - DAY, FINAL)],
      finalize: [{ feed: batch.feed, before: FINAL }],
    })
  }
  // The candle that is still open.
  for (const source of ['cexa', 'cexa_futures'] as const) {
    const feed = { dataset: 'candles', source, symbol: 'BTC', interval: '1h' } as const
    const open = { open: 60_000, high: 60_001, low: 59_999, close: 60_000.5, volume: 1, numTrades: 3 }
    await store.write({ rows: [{ feed, rows: [{ time: FINAL, ...open, closed: false }] }] })
  }
}

export const iso = (timeMs: number): string => new Date(timeMs).toISOString()

export function feedOf<D extends Feed['dataset']>(
  dataset: D,
  source: Source,
  interval: Feed['interval'] = '',
  symbol: AssetSymbol = 'BTC',
): Feed<D> {
  return { dataset, source, symbol, interval }
}
