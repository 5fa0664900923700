/** Walks through the past of every venue, each with what really happened and how the venue would answer. */
import { createBinanceFutures } from '../../src/venues/binance-futures/venue.ts'
import { createBinanceSpot } from '../../src/venues/binance-spot/venue.ts'
import { createHyperliquid } from '../../src/venues/hyperliquid/venue.ts'
import { createKalshi } from '../../src/venues/kalshi/venue.ts'
import { createPolymarket } from '../../src/venues/polymarket/venue.ts'
import type { HistoryRange, HistoryRequest, Venue, VenueDependencies } from '../../src/venues/venue.ts'
import type { Asked } from './rest-stand-in.ts'

const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const NOW = Date.parse('2026-03-14T12:00:20Z')
export const TICKER = 'KXBTC15M-26MAR141200-00'
export const CONDITION = `0x${'a'.repeat(64)}`
export const TOKENS = ['1100000011', '2200000022']

export type Row = Record<string, unknown> | unknown[]

export interface Case {
  readonly name: string
  readonly create: (dependencies: VenueDependencies) => Venue
  readonly request: HistoryRequest
  /** What happened, oldest first, each with its time. */
  readonly truth: (Row & { at?: never })[]
  readonly timeOf: (row: Row) => number
  readonly setTime: (row: Row, timeMs: number) => Row
  /** The part of the truth that a question asks for; undefined for other questions. */
  readonly rows: (asked: Asked, truth: Row[]) => { rows: Row[]; wrap: (rows: Row[]) => unknown } | undefined
  /** Answers to the questions around it. */
  readonly around: (asked: Asked) => unknown
  /** Fields of a row that name what it belongs to. */
  readonly foreign: ((row: Row) => Row)[]
  /** A row that is left out can be found out. */
  readonly isDense: boolean
}

export const bodyOf = (asked: Asked) => (asked.body === '' ? {} : JSON.parse(asked.body))
const numberOf = (asked: Asked, name: string, otherwise: number) =>
  asked.query.has(name) ? Number(asked.query.get(name)) : otherwise
const plain = (rows: Row[]) => rows
const field = (name: string, value: unknown) => (row: Row) => ({ ...row, [name]: value }) as Row
const at = (index: number) => (row: Row) => Number((row as unknown[])[index])
const named = (name: string) => (row: Row) => Number((row as Record<string, unknown>)[name])
const every = (range: HistoryRange, stepMs: number) =>
  Array.from({ length: Math.ceil((range.toMs - range.fromMs) / stepMs) }, (_, i) => range.fromMs + i * stepMs)

function byTimes(timeOf: Case['timeOf']) {
  return (asked: Asked, truth: Row[]) => {
    const fromMs = numberOf(asked, 'startTime', 0)
    const toMs = numberOf(asked, 'endTime', Number.MAX_SAFE_INTEGER)
    return truth
      .filter((row) => timeOf(row) >= fromMs && timeOf(row) <= toMs)
      .slice(0, numberOf(asked, 'limit', 500))
  }
}

const kline = (openMs: number): Row => [
  ...[openMs, '1.0', '2.0', '0.5', '1.5', '10.0', openMs + MINUTE - 1, '15.0', 7, '6.0', '9.0', '0'],
]
const setKlineTime = (row: Row, timeMs: number): Row => {
  const cells = row as unknown[]
  return [timeMs, ...cells.slice(1, 6), timeMs + Number(cells[6]) - Number(cells[0]), ...cells.slice(7)]
}

const PAST: HistoryRange = { fromMs: NOW - 20 * HOUR - 20_000, toMs: NOW - 2 * HOUR - 20_000 }
const EVER: HistoryRange = { fromMs: PAST.fromMs - 2 * HOUR, toMs: NOW - 20_000 }

export const CASES: Case[] = [
  ...(['binance-spot', 'binance-futures'] as const).map((venue): Case => {
    const path = venue === 'binance-spot' ? '/api/v3' : '/fapi/v1'
    return {
      name: `${venue} klines`,
      create: venue === 'binance-spot' ? createBinanceSpot : createBinanceFutures,
      request: { topic: 'candles', symbol: 'BTC', interval: '1m', range: PAST },
      truth: every(EVER, MINUTE).map(kline) as Case['truth'],
      timeOf: at(0),
      setTime: setKlineTime,
      rows: (asked, truth) =>
        asked.path === `${path}/klines` ? { rows: byTimes(at(0))(asked, truth), wrap: plain } : undefined,
      around: () => ({ serverTime: NOW }),
      // A candle of five minutes under the same name.
      foreign: [(row) => (row as unknown[]).with(6, Number((row as unknown[])[6]) + 4 * MINUTE)],
      isDense: true,
    }
  }),
  {
    name: 'binance-spot aggregate trades',
    create: createBinanceSpot,
    request: {
      topic: 'aggregate_trades',
      symbol: 'BTC',
      range: { fromMs: PAST.fromMs, toMs: PAST.fromMs + HOUR },
    },
    truth: every({ fromMs: EVER.fromMs, toMs: PAST.fromMs + 2 * HOUR }, 1_300).map((T, a) => ({
      ...{ a, p: '1', q: '1', f: a, l: a, T, m: true },
    })) as Case['truth'],
    timeOf: named('T'),
    setTime: (row, T) => ({ ...row, T }) as Row,
    rows: (asked, truth) => {
      if (asked.path !== '/api/v3/aggTrades') return undefined
      const fromId = numberOf(asked, 'fromId', 0)
      return {
        rows: byTimes(named('T'))(
          asked,
          truth.filter((row) => named('a')(row) >= fromId),
        ),
        wrap: plain,
      }
    },
    around: () => ({ serverTime: NOW }),
    foreign: [(row) => ({ ...row, a: named('a')(row) - 5_000 }) as Row],
    isDense: true,
  },
  {
    name: 'binance-futures funding',
    create: createBinanceFutures,
    request: { topic: 'funding', symbol: 'BTC', range: { fromMs: NOW - 20 * 24 * HOUR, toMs: NOW - HOUR } },
    truth: every({ fromMs: Date.UTC(2026, 1, 1), toMs: NOW }, 8 * HOUR).map((fundingTime) => ({
      ...{ symbol: 'BTCUSDT', fundingTime, fundingRate: '0.0001', markPrice: '1' },
    })) as Case['truth'],
    timeOf: named('fundingTime'),
    setTime: (row, fundingTime) => ({ ...row, fundingTime }) as Row,
    rows: (asked, truth) =>
      asked.path === '/fapi/v1/fundingRate' && asked.query.has('startTime')
        ? { rows: byTimes(named('fundingTime'))(asked, truth), wrap: plain }
        : undefined,
    around: ({ path }) => {
      const nextMs = Date.UTC(2026, 2, 14, 16)
      if (path === '/fapi/v1/time') return { serverTime: NOW }
      if (path === '/fapi/v1/premiumIndex')
        return {
          ...{ symbol: 'BTCUSDT', markPrice: '1', indexPrice: '1', lastFundingRate: '0.0001' },
          ...{ nextFundingTime: nextMs, time: NOW },
        }
      return [16 * HOUR, 8 * HOUR].map((agoMs) => ({
        ...{ symbol: 'BTCUSDT', fundingTime: nextMs - agoMs, fundingRate: '0.0001' },
      }))
    },
    foreign: [field('symbol', 'ETHUSDT')],
    isDense: false,
  },
  {
    name: 'binance-futures open interest',
    create: createBinanceFutures,
    request: { topic: 'open_interest', symbol: 'BTC', range: PAST },
    truth: every({ fromMs: EVER.fromMs - (EVER.fromMs % HOUR), toMs: NOW - HOUR }, 5 * MINUTE).map(
      (timestamp) => ({
        ...{ symbol: 'BTCUSDT', sumOpenInterest: '10', sumOpenInterestValue: '600', timestamp },
      }),
    ) as Case['truth'],
    timeOf: named('timestamp'),
    setTime: (row, timestamp) => ({ ...row, timestamp }) as Row,
    rows: (asked, truth) =>
      asked.path === '/futures/data/openInterestHist'
        ? { rows: byTimes(named('timestamp'))(asked, truth), wrap: plain }
        : undefined,
    around: () => ({ serverTime: NOW }),
    foreign: [
      field('symbol', 'ETHUSDT'),
      (row) => ({ ...row, timestamp: named('timestamp')(row) + 1 }) as Row,
    ],
    isDense: false,
  },
  {
    name: 'hyperliquid klines',
    create: createHyperliquid,
    request: { topic: 'candles', symbol: 'BTC', interval: '1m', range: PAST },
    truth: every(EVER, MINUTE).map((t) => ({
      ...{ t, T: t + MINUTE - 1, s: 'BTC', i: '1m', o: '1', h: '2', l: '1', c: '2', v: '3', n: 4 },
    })) as Case['truth'],
    timeOf: named('t'),
    setTime: (row, t) => ({ ...row, t, T: t + named('T')(row) - named('t')(row) }) as Row,
    rows: (asked, truth) => {
      const { type, req } = bodyOf(asked)
      if (type !== 'candleSnapshot') return undefined
      return {
        rows: truth.filter((row) => named('t')(row) >= req.startTime && named('t')(row) <= req.endTime),
        wrap: plain,
      }
    },
    around: () => ({ specialStatuses: null, time: NOW }),
    foreign: [
      field('s', 'ETH'),
      field('i', '5m'),
      (row) => ({ ...row, T: named('T')(row) + 4 * MINUTE }) as Row,
    ],
    isDense: false,
  },
  {
    name: 'hyperliquid funding',
    create: createHyperliquid,
    request: { topic: 'funding', symbol: 'BTC', range: PAST },
    truth: every({ fromMs: EVER.fromMs - (EVER.fromMs % HOUR), toMs: NOW }, HOUR).map((time) => ({
      ...{ coin: 'BTC', fundingRate: '0.0000125', premium: '0', time: time + 40 },
    })) as Case['truth'],
    timeOf: named('time'),
    setTime: (row, time) => ({ ...row, time }) as Row,
    rows: (asked, truth) => {
      const { type, startTime, endTime } = bodyOf(asked)
      if (type !== 'fundingHistory') return undefined
      return {
        rows: truth.filter((row) => named('time')(row) >= startTime && named('time')(row) <= endTime),
        wrap: plain,
      }
    },
    around: () => ({ specialStatuses: null, time: NOW }),
    foreign: [field('coin', 'ETH')],
    isDense: false,
  },
  {
    name: 'kalshi trades',
    create: createKalshi,
    request: {
      ...{ topic: 'trades', symbol: 'BTC', market: TICKER },
      range: { fromMs: PAST.fromMs, toMs: PAST.fromMs + 3 * HOUR },
    },
    truth: every(EVER, 17_000).map((timeMs, id) => ({
      ...{ trade_id: `t${id}`, ticker: TICKER, count_fp: '1.00', yes_price_dollars: '0.4000' },
      ...{ taker_book_side: 'bid', created_time: new Date(timeMs).toISOString() },
    })) as Case['truth'],
    timeOf: (row) => Date.parse(String((row as Record<string, unknown>).created_time)),
    setTime: (row, timeMs) =>
      ({ ...row, created_time: timeMs < 8.64e15 ? new Date(timeMs).toISOString() : 'later' }) as Row,
    rows: (asked, truth) => {
      if (!asked.path.endsWith('/markets/trades')) return undefined
      const [fromS, toS] = [numberOf(asked, 'min_ts', 0), numberOf(asked, 'max_ts', 0)]
      const time = (row: Row) => Date.parse(String((row as Record<string, unknown>).created_time)) / 1_000
      const all = truth.filter((row) => time(row) >= fromS && time(row) <= toS).toReversed()
      // Pages of a hundred, whatever is asked for.
      const from = Number((asked.query.get('cursor') ?? 'c0').slice(1))
      const cursor = from + 100 < all.length ? `c${from + 100}` : ''
      return { rows: all.slice(from, from + 100), wrap: (trades) => ({ trades, cursor }) }
    },
    around: () => ({ market_settled_ts: '2025-12-01T00:00:00Z', trades_created_ts: '2025-12-01T00:00:00Z' }),
    foreign: [field('ticker', 'KXETH15M-26MAR141200-00'), field('taker_book_side', 7)],
    isDense: false,
  },
  {
    name: 'kalshi candles',
    create: createKalshi,
    request: { topic: 'contract_candles', symbol: 'BTC', market: TICKER, interval: '1m', range: PAST },
    truth: every(EVER, MINUTE).map((openMs) => ({
      ...{ end_period_ts: (openMs + MINUTE) / 1_000, volume_fp: '0.00', open_interest_fp: '0.00' },
      ...{ price: {}, yes_bid: {}, yes_ask: {} },
    })) as Case['truth'],
    timeOf: (row) => named('end_period_ts')(row) * 1_000 - MINUTE,
    setTime: (row, timeMs) => ({ ...row, end_period_ts: Math.floor((timeMs + MINUTE) / 1_000) }) as Row,
    rows: (asked, truth) => {
      if (!asked.path.endsWith('/candlesticks')) return undefined
      const [fromS, toS] = [numberOf(asked, 'start_ts', 0), numberOf(asked, 'end_ts', 0)]
      const end = named('end_period_ts')
      return {
        rows: truth.filter((row) => end(row) >= fromS && end(row) <= toS),
        wrap: (candlesticks) => ({ candlesticks }),
      }
    },
    around: () => ({ market_settled_ts: '2025-12-01T00:00:00Z', trades_created_ts: '2025-12-01T00:00:00Z' }),
    foreign: [
      (row) => ({ ...row, end_period_ts: named('end_period_ts')(row) + 7 }) as Row,
      field('end_period_ts', 'noon'),
    ],
    isDense: false,
  },
  {
    name: 'polymarket trades',
    create: (dependencies) => {
      const rest = dependencies.hosts?.rest ?? ''
      return createPolymarket({ ...dependencies, hosts: { rest, clob: rest, data: rest } })
    },
    request: { topic: 'trades', symbol: 'BTC', market: CONDITION, range: PAST },
    truth: every(EVER, 97_000).map((timeMs, index) => ({
      ...{ side: 'BUY', token_id: TOKENS[index % 2], condition_id: CONDITION, size: 1, price: 0.5 },
      ...{ timestamp: Math.floor(timeMs / 1_000), transaction_hash: `0x${index}` },
    })) as Case['truth'],
    timeOf: (row) => named('timestamp')(row) * 1_000,
    setTime: (row, timeMs) => ({ ...row, timestamp: timeMs / 1_000 }) as Row,
    rows: (asked, truth) => {
      if (asked.path !== '/v2/trades') return undefined
      const from = Number((asked.query.get('cursor') ?? 'c0').slice(1))
      const all = truth.toReversed()
      const more = from + 200 < all.length
      return {
        rows: all.slice(from, from + 200),
        wrap: (data) => ({ data, pagination: { has_more: more, next_cursor: `c${from + 200}` } }),
      }
    },
    around: (asked) =>
      asked.query.get('closed') === 'true'
        ? [
            {
              ...{
                id: '91',
                conditionId: CONDITION,
                slug: `btc-updown-5m-${Math.floor(PAST.fromMs / 300_000) * 300}`,
              },
              ...{ outcomes: '["Up", "Down"]', clobTokenIds: JSON.stringify(TOKENS), closed: true },
              ...{ eventStartTime: new Date(PAST.fromMs).toISOString() },
              ...{ endDate: new Date(PAST.fromMs + 300_000).toISOString() },
            },
          ]
        : [],
    foreign: [field('condition_id', `0x${'b'.repeat(64)}`), field('price', null)],
    isDense: false,
  },
]
