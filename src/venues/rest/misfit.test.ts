/**
 * Every walk through a venue's past, against a stand-in that answers rightly but for one answer, which is spoilt at
 * random. Whatever is wrong with it: the walk fails, the answer is kept as a dead letter, and nothing is covered that was
 * not read.
 */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { type SeededRandom, seededRandom } from '../../../test/seeded-random.ts'
import { type Asked, restStandIn } from '../../../test/venues/rest-stand-in.ts'
import { endAll } from '../../../test/venues/scripted-venue.ts'
import { createBinanceFutures } from '../binance-futures/venue.ts'
import { createBinanceSpot } from '../binance-spot/venue.ts'
import { phaseOf, roundIdOf, roundOf, word } from '../chainlink/abi.ts'
import { createChainlink } from '../chainlink/venue.ts'
import { createHyperliquid } from '../hyperliquid/venue.ts'
import { createKalshi } from '../kalshi/venue.ts'
import type { CandleObservation } from '../observation.ts'
import { createPolymarket } from '../polymarket/venue.ts'
import type { HistoryRange, HistoryRequest, Venue, VenueDependencies } from '../venue.ts'
import { createPageCheck } from './check-history.ts'

afterEach(endAll)

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const NOW = Date.parse('2026-03-14T12:00:20Z')
const TICKER = 'KXBTC15M-26MAR141200-00'
const CONDITION = `0x${'a'.repeat(64)}`
const TOKENS = ['1100000011', '2200000022']

type Row = Record<string, unknown> | unknown[]

interface Case {
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

const bodyOf = (asked: Asked) => (asked.body === '' ? {} : JSON.parse(asked.body))
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

const CASES: Case[] = [
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
    around: ({ path }) =>
      path === '/fapi/v1/fundingRate'
        ? [16 * HOUR, 8 * HOUR].map((agoMs) => ({
            ...{ symbol: 'BTCUSDT', fundingTime: Date.UTC(2026, 2, 14, 16) - agoMs, fundingRate: '0.0001' },
          }))
        : { serverTime: NOW },
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

/** Each takes the rows of an answer and gives others that do not fit, or undefined where it does not apply. */
const SPOILERS: Record<string, (rows: Row[], about: Case, random: SeededRandom) => Row[] | undefined> = {
  'in microseconds': (rows, { timeOf, setTime }) => rows.map((row) => setTime(row, timeOf(row) * 1_000)),
  'in seconds': (rows, { timeOf, setTime }) =>
    rows.map((row) => setTime(row, Math.floor(timeOf(row) / 1_000))),
  'of another year': (rows, { timeOf, setTime }, random) => {
    const awayMs = random.pick([-1, 1]) * random.int(20, 300) * 24 * HOUR
    return rows.map((row) => setTime(row, timeOf(row) + awayMs))
  },
  'one row from elsewhere': (rows, { timeOf, setTime }, random) => {
    const index = random.int(0, rows.length - 1)
    return rows.map((row, i) => (i === index ? setTime(row, timeOf(row) + 2 * 365 * 24 * HOUR) : row))
  },
  'out of order': (rows, { timeOf }) =>
    rows.length > 1 && timeOf(rows[0] ?? []) !== timeOf(rows.at(-1) ?? []) ? rows.toReversed() : undefined,
  'a row twice': (rows, { timeOf, name }, random) => {
    // Fills of one transaction may be alike: twice is not wrong there.
    if (name.startsWith('polymarket') || !Number.isFinite(timeOf(rows[0] ?? []))) return undefined
    const index = random.int(0, rows.length - 1)
    return rows.toSpliced(index, 0, rows[index] ?? [])
  },
  'of something else': (rows, { foreign }, random) => {
    const change = random.pick(foreign)
    const index = random.int(0, rows.length - 1)
    return rows.map((row, i) => (i === index ? change(row) : row))
  },
  'with a row left out': (rows, { isDense }, random) =>
    isDense && rows.length > 2 ? rows.toSpliced(random.int(1, rows.length - 2), 1) : undefined,
  'cut short': (rows, { isDense, name }, random) =>
    isDense && !name.includes('aggregate') && rows.length > 1
      ? rows.slice(0, random.int(1, rows.length - 1))
      : undefined,
  empty: (_rows, { isDense, name }) =>
    (isDense && !name.includes('aggregate')) || /open interest|funding|hyperliquid/.test(name)
      ? []
      : undefined,
  'not rows at all': () => [7 as unknown as Row],
}

/** A walk to its end or its failure: what it covered and what it brought. */
async function walk(venue: Venue, request: HistoryRequest) {
  const covered: HistoryRange[] = []
  const times: number[] = []
  let error: unknown
  try {
    for await (const page of venue.history(request, { signal: AbortSignal.timeout(60_000) })) {
      if (page.covered !== null) covered.push(page.covered)
      for (const row of page.observations)
        times.push(row.kind === 'candle' || row.kind === 'contract_candle' ? row.openTimeMs : row.venueTimeMs)
    }
  } catch (caught) {
    error = caught
  }
  return { covered, times, error }
}

for (const about of CASES) {
  test(`${about.name}: an answer that does not fit fails the walk, is kept, and covers nothing`, async (t) => {
    const random = seededRandom(t)
    const { request, timeOf } = about
    const truth = about.truth as Row[]
    let questions = 0
    let spoil: ((rows: Row[]) => Row[] | undefined) | undefined
    let spoiltAt = 0
    let hasSpoilt = false
    const rest = await restStandIn((asked) => {
      const found = about.rows(asked, truth)
      if (found === undefined) return about.around(asked)
      questions += 1
      if (questions !== spoiltAt || found.rows.length === 0) return found.wrap(found.rows)
      const wrong = spoil?.(found.rows)
      if (wrong === undefined) return found.wrap(found.rows)
      hasSpoilt = true
      return found.wrap(wrong)
    })
    const create = () => about.create({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    const inside = (range: HistoryRange) =>
      truth.map(timeOf).filter((timeMs) => timeMs >= range.fromMs && timeMs < range.toMs)

    const good = await walk(create(), request)
    assert.equal(good.error, undefined)
    assert.deepEqual(good.times, inside(request.range))
    assert.equal(good.covered.at(-1)?.toMs, request.range.toMs)
    const goodQuestions = questions

    for (const [name, spoiler] of Object.entries(SPOILERS)) {
      questions = 0
      hasSpoilt = false
      spoiltAt = random.int(1, goodQuestions)
      spoil = (rows) => spoiler(rows, about, random)
      const venue = create()
      const bad = await walk(venue, request)
      if (!hasSpoilt) continue
      const what = `${about.name}, answer ${spoiltAt} of ${goodQuestions} ${name}`
      assert.ok(bad.error instanceof Error, `${what}: the walk went on`)
      assert.ok(venue.deadLetters.total > 0, `${what}: no dead letter`)
      const brought = new Set(bad.times)
      for (const range of bad.covered)
        for (const timeMs of inside(range))
          assert.ok(brought.has(timeMs), `${what}: ${timeMs} is covered and missing`)
    }
  })
}

test('a page that repeats itself ends the walk, by id and by cursor', async () => {
  for (const about of CASES.filter(({ name }) => /aggregate|kalshi trades|polymarket trades/.test(name))) {
    let first: unknown
    const rest = await restStandIn((asked) => {
      const found = about.rows(asked, about.truth as Row[])
      if (found === undefined) return about.around(asked)
      if (found.rows.length === 0) return found.wrap([])
      first ??= found.wrap(found.rows)
      return first
    })
    const venue = about.create({ clock: manualClock(NOW), hosts: { rest: rest.url } })
    const { error } = await walk(venue, about.request)
    assert.match(String(error), /does not fit/, about.name)
    assert.ok(rest.asked.length < 10, `${about.name}: ${rest.asked.length} questions`)
  }
})

test('an oracle node that answers with another round proves nothing about the round that was asked for', async () => {
  const PROXY = '0xc907E116054Ad103354f2D350FD2514433D57F6f'
  const newest = roundIdOf(1n, 40n)
  const hex = (roundId: bigint, updatedAt: number) =>
    [roundId, 100_000_000n, BigInt(updatedAt), BigInt(updatedAt), roundId].map(word).join('')
  const timeOf = (round: bigint) => (NOW - 41 * HOUR) / 1_000 + Number(round) * 3_600
  let isWrong = false
  let unit = 1
  const rest = await restStandIn((asked) => {
    const { id, params } = bodyOf(asked)
    const data = String(params?.[0]?.data ?? '')
    const result = () => {
      switch (data.slice(0, 10)) {
        case '0xfeaf968c':
          return `0x${hex(newest, timeOf(40n) * unit)}`
        case '0x9a6fc8f5': {
          const round = roundOf(BigInt(`0x${data.slice(10)}`))
          const reported = isWrong && round === 30n ? 29n : round
          return round > 40n
            ? '0x'
            : `0x${hex(roundIdOf(phaseOf(newest), reported), timeOf(reported) * unit)}`
        }
        case '0x313ce567':
          return `0x${word(8n)}`
        default:
          return '0x'
      }
    }
    return { jsonrpc: '2.0', id, result: result() }
  })
  const create = () =>
    createChainlink({
      clock: manualClock(NOW),
      chainlink: { providers: [rest.url], proxies: { BTC: PROXY } },
    })
  const request: HistoryRequest = {
    ...{ topic: 'oracle_rounds', symbol: 'BTC', range: { fromMs: NOW - 20 * HOUR, toMs: NOW } },
  }
  const missing = (covered: HistoryRange[], times: number[]) => {
    const brought = new Set(times)
    return Array.from({ length: 40 }, (_, i) => timeOf(BigInt(i + 1)) * 1_000).filter(
      (timeMs) =>
        covered.some(({ fromMs, toMs }) => timeMs >= fromMs && timeMs < toMs) && !brought.has(timeMs),
    )
  }
  const good = await walk(create(), request)
  assert.equal(good.error, undefined)
  assert.deepEqual(missing(good.covered, good.times), [])
  assert.ok(good.times.includes(timeOf(30n) * 1_000))
  isWrong = true
  const venue = create()
  const bad = await walk(venue, request)
  assert.ok(!bad.times.includes(timeOf(30n) * 1_000))
  assert.deepEqual(missing(bad.covered, bad.times), [])
  assert.ok((venue.deadLetters.counts().misfit ?? 0) > 0)
  isWrong = false
  // Tenths of seconds: a time that could be one, in another century.
  unit = 10
  const late = create()
  const tenths = await walk(late, request)
  assert.match(String(tenths.error), /does not fit/)
  assert.deepEqual(tenths.covered, [])
  assert.equal(late.deadLetters.counts().misfit, 1)
  unit = 1_000
  const milliseconds = await walk(create(), request)
  assert.ok(milliseconds.error instanceof Error)
  assert.deepEqual(milliseconds.covered, [])
})

test('whatever an adapter makes of it, a page of another request is not passed on', () => {
  const range = { fromMs: 10 * MINUTE, toMs: 20 * MINUTE }
  const request: HistoryRequest = { topic: 'candles', symbol: 'BTC', interval: '1m', range }
  const candle = (openTimeMs: number, more: Partial<CandleObservation> = {}): CandleObservation => ({
    ...{ kind: 'candle', source: 'cexa', symbol: 'BTC', instrument: 'BTCUSDT', interval: '1m', openTimeMs },
    ...{
      venueTimeMs: openTimeMs,
      receivedMs: 0,
      key: null,
      closeTimeMs: openTimeMs + MINUTE - 1,
      closed: true,
    },
    ...{ open: '1', high: '1', low: '1', close: '1', volume: '0', tradeCount: 0 },
    ...{ quoteVolume: null, takerBuyVolume: null, takerBuyQuoteVolume: null },
    ...more,
  })
  const page = (observations: CandleObservation[], covered: HistoryRange | null = null) => ({
    ...{ observations, covered, missing: [] },
  })
  const faultOf = (...pages: ReturnType<typeof page>[]) => {
    const check = createPageCheck(request, { source: 'cexa' })
    return pages.map(check).find((fault) => fault !== undefined)
  }
  const good = candle(12 * MINUTE)
  assert.equal(faultOf(page([good, candle(13 * MINUTE)], range)), undefined)
  assert.match(faultOf(page([candle(12 * MINUTE, { symbol: 'ETH' })])) ?? '', /ETH/)
  assert.match(faultOf(page([candle(12 * MINUTE, { source: 'cexa_futures' })])) ?? '', /cexa_futures/)
  assert.match(faultOf(page([candle(15 * MINUTE, { interval: '5m' })])) ?? '', /5m/)
  assert.match(faultOf(page([candle(12 * MINUTE + 1)])) ?? '', /grid/)
  assert.match(faultOf(page([candle(12 * MINUTE, { closed: false })])) ?? '', /open/)
  assert.match(faultOf(page([candle(20 * MINUTE)])) ?? '', /asked for/)
  assert.match(faultOf(page([good]), page([candle(11 * MINUTE)])) ?? '', /after/)
  assert.match(
    faultOf(page([candle(12 * MINUTE, { key: 'a' })]), page([candle(12 * MINUTE, { key: 'a' })])) ?? '',
    /twice/,
  )
  assert.match(faultOf(page([], { fromMs: 9 * MINUTE, toMs: 12 * MINUTE })) ?? '', /settled/)
  assert.match(faultOf(page([], range), page([], range)) ?? '', /settled/)
  assert.match(faultOf(...Array.from({ length: 200 }, () => page([]))) ?? '', /without anything/)
})
