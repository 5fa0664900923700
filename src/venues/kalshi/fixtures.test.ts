import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mirroredBook, textBook } from '../../../test/predictions/levels.ts'
import { absent, recordedFiles, recordedJson, recordedLines } from '../../../test/predictions/recordings.ts'
import { buildContractCandles } from '../../core/contract-candles.ts'
import { composeYesNo } from '../../core/market-snapshot.ts'
import { microText } from '../../core/micro.ts'
import { OrderBook } from '../../core/order-book.ts'
import { encodeSnapshot } from '../../core/rows/snapshot.ts'
import type { FrameOutcome } from '../live/frame.ts'
import type { DataObservation } from '../observation.ts'
import { type ContractFeed, createContractFeed } from './feed.ts'
import { aboutOf, type CandleWire, mapCandle, mapMarket, mapRestTrade, mapTicker } from './mapper.ts'
import { SERIES } from './series.ts'
import { ExchangeStatus, ListedContract, LiveCandle, RestBook, RestTrade } from './wire.ts'

const skip = absent('kalshi')
const REAL = 'ws_frames_KXBTC_2026-04-18.jsonl'
const TRADES_2026_02 = 'ws_trades_2026-02-12.jsonl'
const TICKERS_2026_02 = 'ws_ticker_2026-02-12.jsonl'
const EVENT = 'KXBTC-26APR1817'
const STRIKES = ['B76125', 'B76375', 'B76625', 'B76875', 'B77375', 'B77625', 'B77875', 'B78125']
const TICKERS = STRIKES.map((strike) => `${EVENT}-${strike}`)

const realFrames = () => recordedLines<{ raw: string }>('kalshi', REAL).map(({ raw }) => raw)

function feedOf(tickers: readonly string[]): { feed: ContractFeed; sent: string[]; cuts: string[] } {
  const sent: string[] = []
  const cuts: string[] = []
  const feed = createContractFeed('BTC', {
    send: (frame) => sent.push(frame),
    cut: (reason) => cuts.push(reason),
    lostTrades: () => {},
    lostFigures: () => {},
  })
  feed.follow(tickers, 0)
  feed.openReader()
  return { feed, sent, cuts }
}

const errorOf = (frame: string | undefined): object => JSON.parse(frame ?? '{}').msg

/** Replays frames on a fresh socket whose first subscription is that of the recording. */
function replay(frames: readonly string[], tickers: readonly string[] = TICKERS) {
  const { feed, sent, cuts } = feedOf(tickers)
  const protocol = feed.openReader()
  feed.greeting(1)
  const outcomes: FrameOutcome[] = frames.map((frame, index) => protocol.read(frame, 1_000 + index))
  const observations = outcomes.flatMap((outcome) =>
    outcome.kind === 'data' ? outcome.items.map((item) => item.observation) : [],
  )
  return { feed, sent, cuts, outcomes, observations }
}

/** The books as a consumer of the observations has them. */
function booksOf(observations: readonly DataObservation[]) {
  const books = new Map<string, OrderBook>()
  for (const each of observations) {
    const book = books.get(each.instrument) ?? new OrderBook()
    if (each.kind === 'book_snapshot') book.replace(each.bids, each.asks)
    else if (each.kind === 'book_delta') {
      for (const [price, size] of each.bids) book.set('bids', price, size)
      for (const [price, size] of each.asks) book.set('asks', price, size)
    } else continue
    books.set(each.instrument, book)
  }
  return books
}

const GOLDEN = 'golden_2026-01/'
/** Answers whose shapes are read, each by a test of this file. */
const READ = [
  'candlesticks_batch_response.json',
  'event_candlesticks_response.json',
  'event_single_response.json',
  'exchange_status_response.json',
  'market_single_response.json',
  'markets_list_response.json',
  'orderbook_response.json',
  'series_candlesticks_response.json',
  'trades_list_response.json',
]
/** Answers to requests that are never sent, and why not. */
const UNREAD: Record<string, string> = {
  'event_metadata_response.json': 'pictures and colours of the web page',
  'events_list_response.json': 'contracts are listed by series and name their event themselves',
  'exchange_schedule_response.json': 'the stream shows whether the venue is open, its plan does not',
  'series_list_response.json': 'the series that are recorded are a fixed list',
  'series_single_response.json': 'the series that are recorded are a fixed list',
}

test('every recorded file is read by a test or listed with the reason why it is not', { skip }, () => {
  const golden = recordedFiles('kalshi').filter((file) => file.startsWith(GOLDEN))
  assert.deepEqual(
    golden.map((file) => file.slice(GOLDEN.length)).sort(),
    [...READ, ...Object.keys(UNREAD)].sort(),
  )
  assert.deepEqual(
    recordedFiles('kalshi').filter((file) => !file.startsWith(GOLDEN)),
    [
      'expected_replay_KXBTC_2026-04-18.json',
      'ws_documented_examples_2026-08.jsonl',
      REAL,
      'ws_frames_demo_2026-08-27.jsonl',
      TICKERS_2026_02,
      TRADES_2026_02,
    ],
  )
})

test('74 recorded frames: 8 snapshots and 61 deltas without a gap, three errors, books to the last level', {
  skip,
}, () => {
  const { feed, outcomes, observations, sent, cuts } = replay(realFrames())
  const kinds: Record<string, number> = {}
  for (const { kind } of observations) kinds[kind] = (kinds[kind] ?? 0) + 1
  assert.equal(outcomes.length, 74)
  assert.deepEqual([kinds.book_snapshot, kinds.book_delta, kinds.book_lost], [8, 61, undefined])
  assert.equal(feed.stats().gaps, 0)
  assert.deepEqual(cuts, [])
  const refused = outcomes.flatMap((outcome, index) =>
    outcome.kind === 'refused' ? [{ reason: outcome.reason, ...errorOf(realFrames()[index]) }] : [],
  )
  // All of them are the venue's errors about one channel, kept as dead letters; the other channels stay subscribed.
  assert.deepEqual(refused, Array(3).fill({ reason: 'venue_error', code: 8, msg: 'Unknown channel name' }))
  assert.deepEqual(feed.tend(20_000), [])
  assert.deepEqual([sent, cuts], [[], []], 'and nothing is asked again because of it')

  const books = booksOf(observations)
  const tops = STRIKES.map((strike) => {
    const book = books.get(`${EVENT}-${strike}`)
    return [book?.best('bids'), book?.best('asks')].map((top) => microText(top ?? -1)).join('/')
  })
  assert.deepEqual(tops, [
    '0.02/0.07',
    '0.03/0.08',
    '0.04/0.09',
    '0.11/0.18',
    '0.16/0.23',
    '0.1/0.16',
    '0.04/0.09',
    '0.02/0.07',
  ])

  type Side = readonly (readonly [string, string])[]
  const { markets } = recordedJson<{
    markets: Record<string, Record<string, string> & Record<'yes_bids' | 'no_bids', Side>>
  }>('kalshi', 'expected_replay_KXBTC_2026-04-18.json')
  const numbers = (side: Side) => side.map((level) => level.map(Number))
  assert.deepEqual(Object.keys(markets).sort(), [...TICKERS].sort())
  for (const [ticker, expected] of Object.entries(markets)) {
    const book = books.get(ticker)
    assert.ok(book)
    assert.deepEqual(numbers(textBook(book.microBook()).bids), numbers(expected.yes_bids), `${ticker} yes`)
    assert.deepEqual(
      numbers(textBook(mirroredBook(book.microBook())).bids),
      numbers(expected.no_bids),
      `${ticker} no`,
    )
    const state = { ticker, book, lastPrice: null, volume: null, openInterest: null }
    const feed = { dataset: 'snapshots', source: 'predmkt_b', symbol: 'BTC', interval: '1d' } as const
    const row = JSON.parse(encodeSnapshot(feed, composeYesNo(500, state)).text)
    for (const name of ['yes_bid', 'yes_ask', 'no_bid', 'no_ask', 'mid_price', 'spread'] as const)
      assert.equal(row[name], Number(expected[name]), `${ticker} ${name}`)
  }
})

/** Reads each frame on a socket that follows its contract. */
function readAlone(frame: { msg: { market_ticker: string } }, receivedMs: number): DataObservation[] {
  const { feed } = feedOf([frame.msg.market_ticker])
  const outcome = feed.openReader().read(JSON.stringify(frame), receivedMs)
  assert.ok(outcome.kind === 'data', JSON.stringify(outcome))
  assert.equal(outcome.refused, undefined)
  return outcome.items.map(({ observation }) => observation)
}

interface RecordedTrade {
  msg: Record<'trade_id' | 'market_ticker' | 'yes_price_dollars' | 'count_fp' | 'taker_side', string> & {
    ts: number
  }
}

test('ten recorded trades whose time is in seconds are read, each with its second', { skip }, () => {
  const frames = recordedLines<RecordedTrade>('kalshi', TRADES_2026_02)
  assert.equal(frames.length, 10)
  for (const frame of frames) {
    const { msg } = frame
    const [trade] = readAlone(frame, 1_770_899_999_999)
    assert.ok(trade?.kind === 'trade')
    assert.deepEqual(
      [trade.id, trade.instrument, trade.price, trade.size, trade.side, trade.venueTimeMs],
      [
        msg.trade_id,
        msg.market_ticker,
        msg.yes_price_dollars,
        msg.count_fp,
        msg.taker_side === 'yes' ? 'buy' : 'sell',
        msg.ts * 1_000,
      ],
    )
  }
})

test('a trade has its time in milliseconds, seconds or as a text; one without any is refused', {
  skip,
}, () => {
  const [frame] = recordedLines<RecordedTrade>('kalshi', TRADES_2026_02)
  assert.ok(frame)
  const { ts: _, ...msg } = frame.msg
  for (const [time, expected] of [
    [{ ts: 1_770_897_981, ts_ms: 1_770_897_981_234 }, 1_770_897_981_234],
    [{ ts: '2026-02-12T12:06:21.234567Z', ts_ms: 1_770_897_981_234 }, 1_770_897_981_234],
    [{ ts: '2026-02-12T12:06:21.234567Z' }, 1_770_897_981_234],
    [{ ts: 1_770_897_981 }, 1_770_897_981_000],
  ] as const)
    assert.equal(readAlone({ ...frame, msg: { ...msg, ...time } }, 1)[0]?.venueTimeMs, expected)
  for (const time of [{}, { ts: null }, { ts: 'soon' }, { ts: -1 }, { ts: 1_770_897_981_234_000 }]) {
    const { feed } = feedOf([msg.market_ticker])
    const text: string = JSON.stringify({ ...frame, msg: { ...msg, ...time } })
    assert.equal(feed.openReader().read(text, 1).kind, 'refused', JSON.stringify(time))
  }
})

test('ten recorded figures whose time is in seconds are placed within their second', { skip }, () => {
  const frames = recordedLines<{
    msg: Record<'market_ticker' | 'price_dollars' | 'volume_fp' | 'open_interest_fp', string> & { ts: number }
  }>('kalshi', TICKERS_2026_02)
  assert.equal(frames.length, 10)
  for (const frame of frames)
    for (const [receivedMs, placed] of [
      [frame.msg.ts * 1_000 + 400, 400],
      [frame.msg.ts * 1_000 + 1_700, 999],
      [frame.msg.ts * 1_000 - 300, 0],
    ] as const) {
      const { msg } = frame
      const [figures, interest] = readAlone(frame, receivedMs)
      assert.ok(figures?.kind === 'market_ticker' && interest?.kind === 'open_interest')
      assert.deepEqual(
        [figures.lastPrice, figures.volume, interest.openInterest],
        [msg.price_dollars === '0.0000' ? null : msg.price_dollars, msg.volume_fp, msg.open_interest_fp],
      )
      assert.deepEqual([figures.venueTimeMs, interest.venueTimeMs], Array(2).fill(msg.ts * 1_000 + placed))
    }
})

test('any one delta left out is a gap: all eight books go stale and are asked for again', { skip }, () => {
  const frames = realFrames()
  const deltas = frames.flatMap((frame, index) =>
    frame.includes('{"type":"orderbook_delta"') ? [index] : [],
  )
  assert.equal(deltas.length, 61)
  for (const left of deltas.slice(0, -1)) {
    const { feed, observations, sent } = replay(frames.filter((_, index) => index !== left))
    assert.equal(feed.stats().gaps, 1)
    const lost = observations.filter((each) => each.kind === 'book_lost')
    assert.deepEqual(lost.map((each) => each.instrument).sort(), [...TICKERS].sort())
    assert.ok(TICKERS.every((ticker) => !feed.bookOf(ticker).isLive))
    const asked = sent
      .map((frame) => JSON.parse(frame))
      .filter((frame) => frame.params.action === 'get_snapshot')
    assert.deepEqual(
      asked.map((frame) => frame.params.market_tickers.length),
      [8],
    )
  }
})

test('the demo frames: an ok takes a number, a snapshot without sides is an empty book, price 0 is no trade', {
  skip,
}, () => {
  const frames = recordedLines<Record<string, unknown>>('kalshi', 'ws_frames_demo_2026-08-27.jsonl')
  const tickers = ['KXGOLDH-26AUG2711-T4615.99', 'KXBTCD-25AUG2617-T112999.99']
  const { feed } = feedOf(tickers)
  const protocol = feed.openReader()
  feed.greeting(1)
  const [subscribed, snapshot, delta, ticker, ok, error, empty] = frames.map((frame) => JSON.stringify(frame))
  const read = (text: string | undefined) => protocol.read(text ?? '', 1)
  const numbered = (text: string | undefined, seq: number) =>
    JSON.stringify({ ...JSON.parse(text ?? ''), seq })
  read(subscribed)
  read(snapshot)
  read(delta)
  for (let seq = 3; seq < 108; seq++) read(numbered(delta, seq))
  read(ok)
  read(numbered(delta, 109))
  assert.equal(feed.stats().gaps, 0, 'the number of the ok belongs to the row')
  const figures = read(ticker)
  assert.ok(figures.kind === 'data')
  assert.deepEqual(
    figures.items.map(({ observation }) => observation.kind),
    ['market_ticker', 'open_interest'],
  )
  assert.equal(
    figures.items.map(({ observation }) => 'lastPrice' in observation && observation.lastPrice)[0],
    null,
  )
  assert.equal(read(error).kind, 'refused')
  const fresh = feed.openReader()
  const outcome = fresh.read(empty ?? '', 2)
  assert.ok(outcome.kind === 'data')
  const [book] = outcome.items
    .map(({ observation }) => observation)
    .filter((each) => each.kind === 'book_snapshot')
  assert.deepEqual([book?.bids, book?.asks], [[], []])
})

test('every documented frame of the venue is read or known, none is malformed', { skip }, () => {
  const examples = recordedLines<{ message: string; payload: { type?: string } | string }>(
    'kalshi',
    'ws_documented_examples_2026-08.jsonl',
  )
  const frames = examples.filter(({ payload }) => typeof payload === 'object' && payload.type !== undefined)
  assert.deepEqual([examples.length, frames.length], [62, 34])
  const tickers = frames.map(
    ({ payload }) => (payload as { msg?: { market_ticker?: string } }).msg?.market_ticker ?? '',
  )
  const { feed } = feedOf(tickers)
  for (const { message, payload } of frames) {
    const outcome = feed.openReader().read(JSON.stringify(payload), 1)
    const reason = outcome.kind === 'refused' ? outcome.reason : 'fine'
    // The error examples are errors of the venue; everything else must be understood.
    const expected =
      message === 'errorResponse' && !JSON.stringify(payload).includes('"code":6') ? 'venue_error' : 'fine'
    assert.equal(reason, expected, JSON.stringify(payload))
  }
})

test('the documented examples beside the frames are commands, of which ours have the keys', { skip }, () => {
  type Example = { payload: { type?: string; cmd?: string; params?: object } | string }
  const examples = recordedLines<Example>('kalshi', 'ws_documented_examples_2026-08.jsonl').map(
    ({ payload }) => payload,
  )
  const others = examples.filter((each) => typeof each === 'string' || each.type === undefined)
  const isBeat = (each: Example['payload']) => each === 'heartbeat' || each === ''
  const commands = others.filter((each) => !isBeat(each))
  assert.ok(commands.every((each) => typeof each === 'object' && each.cmd !== undefined))
  const keysOf = (name: string) =>
    new Set(
      commands.flatMap((each) =>
        typeof each === 'object' && each.cmd === name ? Object.keys(each.params ?? {}) : [],
      ),
    )
  const { feed } = feedOf(TICKERS)
  const own = feed.greeting(1).map((frame) => JSON.parse(frame))
  // The option that is going to disappear is in the text of the documentation but not in its examples.
  for (const { cmd, params } of own)
    for (const key of Object.keys(params).filter((each) => each !== 'use_yes_price'))
      assert.ok(keysOf(cmd).has(key), `${cmd} ${key}`)
})

interface Golden<T> {
  response: T
}
const golden = <T>(file: string) => recordedJson<Golden<T>>('kalshi', `golden_2026-01/${file}`).response

interface GoldenCandle extends CandleWire, Record<string, unknown> {
  readonly volume: number
}
/** The recorded answers have volumes in whole contracts only, which the venue no longer sends. */
const mapToday = (rows: readonly GoldenCandle[]) =>
  rows.map((row) => {
    assert.equal(LiveCandle.is(row), false, 'a candle without volume_fp is not one without trades')
    const today = { ...row, volume_fp: `${row.volume}.00` }
    assert.ok(LiveCandle.is(today))
    return mapCandle(today, 'live', '1h', aboutOf('BTC', 'KXELONMARS-99', 1))
  })

test('candles without trades have no price but quotes and the price before; whole-cent fields are not read', {
  skip,
}, () => {
  const { candlesticks } = golden<{ candlesticks: GoldenCandle[] }>('series_candlesticks_response.json')
  const candles = mapToday(candlesticks)
  const quiet = candles.filter((candle) => candle.price === null)
  const withoutPrice = candlesticks.filter(({ price }) => price?.close === null)
  assert.deepEqual([candles.length, quiet.length], [90, withoutPrice.length])
  assert.equal(quiet.length, 22)
  assert.deepEqual([quiet[0]?.previous, quiet[0]?.yesBid, quiet[0]?.yesAsk], ['0.1100', '0.0800', '0.1100'])
  assert.ok(candles.every((candle) => (candle.volume === '0.00') === (candle.price === null)))
  assert.ok(candles.every((candle) => candle.openInterest === null))
  const [mid] = buildContractCandles({ interval: '1d', finer: quiet.slice(0, 1) })
  assert.deepEqual([mid?.close, mid?.basis], ['0.095', 'mid'])
})

test('candles of several contracts and of an event have the same rows as those of one', { skip }, () => {
  const { markets } = golden<{ markets: { market_ticker: string; candlesticks: GoldenCandle[] }[] }>(
    'candlesticks_batch_response.json',
  )
  const event = golden<{ market_tickers: string[]; market_candlesticks: GoldenCandle[][] }>(
    'event_candlesticks_response.json',
  )
  assert.deepEqual(
    [markets.map((each) => each.market_ticker), event.market_tickers],
    [['KXELONMARS-99'], ['KXELONMARS-99']],
  )
  const { candlesticks } = golden<{ candlesticks: GoldenCandle[] }>('series_candlesticks_response.json')
  const one = mapToday(candlesticks)
  const several = markets.flatMap((each) => mapToday(each.candlesticks))
  const ofEvent = event.market_candlesticks.flatMap(mapToday)
  assert.deepEqual([one.length, several.length, ofEvent.length], [90, 90, 90])
  const byTime = new Map(one.map((candle) => [candle.openTimeMs, candle]))
  // They were recorded at different times, so the last candle of each was still growing.
  const closed = (candles: typeof one) =>
    candles.slice(0, -3).filter((candle) => byTime.has(candle.openTimeMs))
  for (const candles of [closed(several), closed(ofEvent)]) {
    assert.equal(candles.length, 87)
    for (const candle of candles) assert.deepEqual(candle, byTime.get(candle.openTimeMs))
  }
})

test('the recorded state of the exchange is read', { skip }, () => {
  const status = golden<unknown>('exchange_status_response.json')
  assert.ok(ExchangeStatus.is(status))
  assert.deepEqual([status.exchange_active, status.trading_active], [true, true])
})

test("the venue's days end at midnight in New York: 04:00Z in summer, 05:00Z in winter", { skip }, () => {
  const { candlesticks } = golden<{ candlesticks: { end_period_ts: number }[] }>(
    'series_candlesticks_response.json',
  )
  const hours = candlesticks.map(({ end_period_ts }) => (end_period_ts % 86_400) / 3_600)
  assert.deepEqual([...new Set(hours)], [4, 5])
})

test('null and absent sides are empty; an answer without a book is refused', () => {
  assert.ok(RestBook.is({ orderbook_fp: {} }))
  assert.ok(RestBook.is({ orderbook_fp: { yes_dollars: null } }))
  assert.equal(RestBook.is({ orderbook_fp: null }), false)
})

test('a book of the old format has no side that is read', { skip }, () => {
  const old = golden<Record<string, unknown>>('orderbook_response.json')
  assert.equal(RestBook.is(old), false, 'the removed integer book must be a dead letter, not an empty book')
})

test('recorded markets map with every null and absent field; old trades are refused for their missing counts', {
  skip,
}, () => {
  const { markets } = golden<{ markets: unknown[] }>('markets_list_response.json')
  const { market } = golden<{ market: unknown }>('market_single_response.json')
  const series = SERIES[0]
  assert.ok(series)
  const ofEvent = golden<{ markets: unknown[] }>('event_single_response.json').markets
  assert.deepEqual([markets.length, ofEvent.length], [5, 1])
  for (const row of [...markets, market, ...ofEvent]) {
    assert.ok(ListedContract.is(row))
    const mapped = mapMarket(row, series)
    assert.deepEqual([mapped?.status, mapped?.winner, mapped?.volume], ['open', null, null])
  }
  const { trades } = golden<{ trades: Record<string, unknown>[] }>('trades_list_response.json')
  for (const trade of trades) {
    assert.equal(RestTrade.is(trade), false)
    const today = { ...trade, count_fp: '3.00' }
    assert.ok(RestTrade.is(today))
    const mapped = mapRestTrade(today, aboutOf('BTC', today.ticker, 1))
    assert.equal(mapped?.side, trade.taker_side === 'yes' ? 'buy' : 'sell')
  }
  assert.equal(mapTicker({ price_dollars: '' }, 1, aboutOf('BTC', 'x', 1)).lastPrice, null)
})
