/** Market data and questions about it, drawn by a seed: the same writes and reads for every engine. */
import type { Dataset, Feed } from '../../src/core/feed.ts'
import { INTERVAL_MS } from '../../src/core/interval.ts'
import type { BookInput } from '../../src/core/rows/book.ts'
import type { MarketInput } from '../../src/core/rows/market.ts'
import type { FeedRows } from '../../src/core/rows/row-kinds.ts'
import type { Source } from '../../src/core/source.ts'
import {
  type CoverageChange,
  GAP_REASONS,
  gap,
  gapUnlessKnown,
  observed,
  retracted,
} from '../../src/store/coverage.ts'
import type { EnvironmentStore, EnvironmentWrite } from '../../src/store/environment.ts'
import type { MarketPosition, MarketQuery } from '../../src/store/markets.ts'
import type { Page, PageQuery, Position, SeriesQuery } from '../../src/store/series.ts'
import type { SeededRandom } from '../seeded-random.ts'

/** A minute before the end of a month: rows lie on both sides. */
export const START_MS = Date.UTC(2026, 1, 28, 23, 0)
const MINUTE_MS = 60_000
const HOURS = 3
const END_MS = START_MS + HOURS * 60 * MINUTE_MS
const INSTRUMENTS = ['0xa', '0xb', 'é', '𝒳', 'zz']

const feed = <D extends Dataset>(
  dataset: D,
  source: Source,
  interval: Feed['interval'] = '',
  symbol: Feed['symbol'] = 'BTC',
): Feed<D> => ({ dataset, source, symbol, interval })

const FEEDS = [
  feed('candles', 'cexa', '1m'),
  feed('candles', 'cexa_futures', '1m'),
  feed('candles', 'perpdex', '1m'),
  feed('candles', 'predmkt_a', '5m'),
  feed('candles', 'predmkt_b', '5m'),
  feed('candles', 'oracle', '5m'),
  feed('candles', 'cexa', '1m', 'ETH'),
  feed('trades', 'cexa'),
  feed('trades', 'perpdex'),
  feed('trades', 'predmkt_a'),
  feed('trades', 'predmkt_b'),
  feed('flow', 'cexa', '1m'),
  feed('flow', 'perpdex', '1m'),
  feed('snapshots', 'perpdex'),
  feed('snapshots', 'predmkt_a', '5m'),
  feed('snapshots', 'predmkt_a', '1h'),
  feed('snapshots', 'predmkt_b', '1h'),
  feed('open_interest', 'cexa_futures', '5m'),
  feed('open_interest', 'predmkt_b', '5m'),
  feed('liquidations', 'cexa_futures'),
  feed('funding', 'perpdex'),
  feed('ticker', 'cexa'),
] as const

/** Never written to. */
const ABSENT_FEED = feed('funding', 'oracle')

type Read = (store: EnvironmentStore) => Promise<unknown>

export interface Draw {
  write(): EnvironmentWrite
  /** A read by any function of the store; the answer as plain values. */
  read(): { readonly name: string; readonly run: Read }
}

export function drawn(random: SeededRandom): Draw {
  const isOnce = (in_: number) => random.int(1, in_) === 1
  const cents = (low: number, high: number) => (random.int(low * 100, high * 100) / 100).toFixed(2)
  /** Mostly new time, sometimes late. */
  let newest = START_MS
  const timeOn = (grid: number) => {
    newest = Math.min(END_MS, newest + random.int(0, 400))
    const late = isOnce(4) ? random.int(0, HOURS * 60 * MINUTE_MS) : random.int(0, 3 * MINUTE_MS)
    return Math.max(START_MS, Math.floor((newest - late) / grid) * grid)
  }

  const book = (): BookInput => {
    const side = (low: number, high: number, direction: 1 | -1) => {
      const prices = new Set(Array.from({ length: random.int(0, 5) }, () => random.int(low, high) / 100))
      return [...prices]
        .sort((a, b) => (a - b) * direction)
        .map((price): [number, number] => [price, random.int(1, 9000) / 10])
    }
    return { bids: side(10, 49, -1), asks: side(50, 90, 1) }
  }
  const instrument = () => random.pick(INSTRUMENTS)

  const rowOf = (of: Feed): unknown => {
    const step = of.interval === '' ? 1 : INTERVAL_MS[of.interval]
    const isPrediction = of.source === 'predmkt_a' || of.source === 'predmkt_b'
    switch (of.dataset) {
      case 'candles': {
        const id = instrument()
        const market = of.source === 'predmkt_a' ? { marketId: 'm', tokenId: id } : { marketId: id }
        const price = isPrediction ? '0.5' : '100'
        const high = isPrediction ? '0.90' : '110.50'
        const low = isPrediction ? '0.1' : '90'
        return {
          time: timeOn(step),
          ...{ open: price, high, low, close: isPrediction ? `0.${random.int(1, 8)}` : cents(90, 110) },
          ...(of.source === 'oracle' ? {} : { volume: cents(0, 40) }),
          closed: !isOnce(4),
          ...(isPrediction ? { market } : {}),
        }
      }
      case 'trades':
        return {
          time: timeOn(1) - random.int(0, 1) * 1_000,
          seq: random.int(0, 3),
          tradeId: `t${random.int(1, 1e6)}`,
          price: isPrediction ? '0.5' : cents(90, 110),
          size: random.int(1, 5),
          side: random.pick(['buy', 'sell'] as const),
          ...(isPrediction ? { marketId: instrument() } : {}),
          ...(of.source === 'predmkt_a' ? { tokenId: instrument() } : {}),
        }
      case 'flow':
        return {
          time: timeOn(step),
          buyVolume: random.int(1, 50),
          sellVolume: random.int(1, 50),
          vwapBuy: '100',
          vwapSell: '99.5',
          closed: !isOnce(3),
        }
      case 'snapshots': {
        const time = timeOn(500)
        if (of.source === 'perpdex') return { time, book: book() }
        if (of.source === 'predmkt_b')
          return { time, marketId: instrument(), yes: book(), ...(isOnce(2) ? { no: book() } : {}) }
        // A market has one duration: two feeds of a source never have rows of the same key.
        const id = `${instrument()}${of.interval === '1h' ? '-hour' : ''}`
        const up = book()
        return {
          time,
          marketId: id,
          tokenUp: `${id}u`,
          tokenDown: `${id}d`,
          up,
          down: isOnce(2) ? up : book(),
        }
      }
      case 'open_interest':
        return {
          time: timeOn(step),
          openInterest: cents(1, 900),
          openInterestUsd: cents(1, 900),
          ...(isPrediction ? { marketId: instrument() } : {}),
        }
      case 'liquidations':
        return {
          time: timeOn(1),
          seq: random.int(0, 2),
          side: random.pick(['long', 'short'] as const),
          ...{ quantity: random.int(1, 20), price: 10, avgPrice: 10 },
        }
      case 'funding': {
        const time = timeOn(MINUTE_MS)
        return { time, fundingRate: cents(0, 1), nextFundingTime: time + 3_600_000 }
      }
      case 'ticker':
        return { time: timeOn(1_000), bidPrice: '99', bidSize: random.int(1, 9), askPrice: '101', askSize: 2 }
    }
  }

  const market = (): MarketInput => {
    const i = random.int(0, 30)
    const start = START_MS + i * 5 * MINUTE_MS
    const isPerpetual = isOnce(8)
    return {
      marketId: isPerpetual ? `P${i % 3}` : `0xC${i}`,
      source: isPerpetual ? 'perpdex' : random.pick(['predmkt_a', 'predmkt_b'] as const),
      symbol: random.pick(['BTC', 'ETH'] as const),
      slug: `Slug-${i}${isOnce(5) ? '-renamed' : ''}`,
      marketType: isPerpetual ? null : random.pick(['5m', '15m', '1h'] as const),
      ...(isPerpetual ? {} : { startTime: start, endTime: start + 5 * MINUTE_MS }),
      active: true,
      status: random.pick(['open', 'closed', 'resolved'] as const),
      aliases: isOnce(3) ? [`${500 + i}`] : [],
    }
  }

  const change = (): CoverageChange => {
    const of = random.pick(FEEDS)
    const from = START_MS + random.int(0, HOURS * 12) * 5 * MINUTE_MS
    const to = from + random.int(0, 8) * 5 * MINUTE_MS
    const reason = random.pick(GAP_REASONS)
    const made = [
      observed(of, from, to),
      observed(of, from, to),
      observed(of, newest - MINUTE_MS, newest),
      gap(of, from, to, reason),
      gapUnlessKnown(of, from, to, reason),
      retracted(of, from, to),
    ]
    return random.pick(made)
  }

  const write = (): EnvironmentWrite => ({
    rows: Array.from({ length: random.int(0, 6) }, (): FeedRows => {
      const of = random.pick(FEEDS)
      const count = random.pick([1, 5, 40, 200])
      return { feed: of, rows: Array.from({ length: count }, () => rowOf(of)) } as FeedRows
    }),
    coverage: Array.from({ length: random.int(0, 6) }, change),
    finalize: isOnce(3) ? [{ feed: random.pick(FEEDS), before: newest - random.int(0, 60) * MINUTE_MS }] : [],
    markets: Array.from({ length: random.int(0, 4) }, market),
  })

  /** Feeds of one dataset, sometimes of several, sometimes one that is not there. */
  const someFeeds = (): Feed[] => {
    if (isOnce(15)) {
      const [first, second] = [random.pick(FEEDS), random.pick(FEEDS)]
      return first.source === second.source ? [first, ABSENT_FEED] : [first, second, ABSENT_FEED]
    }
    const { dataset } = random.pick(FEEDS)
    const all = FEEDS.filter((each) => each.dataset === dataset)
    const chosen = all.filter(({ symbol }) => symbol === 'BTC' && isOnce(2))
    return chosen.length === 0 ? [random.pick(all)] : chosen
  }
  const someRange = () => {
    const from = isOnce(4) ? 0 : START_MS + random.int(-10, HOURS * 60) * MINUTE_MS
    const to = isOnce(4) ? END_MS * 2 : Math.max(from, START_MS) + random.int(0, 90) * MINUTE_MS
    return { from, to, toInclusive: isOnce(2) }
  }
  const someQuery = (): SeriesQuery => {
    const feeds = someFeeds()
    const range = someRange()
    const position: Position = {
      ts: Math.max(START_MS, range.from) + random.int(0, 60) * 30_000,
      source: random.pick(feeds).source,
      instrument: random.pick(['', ...INSTRUMENTS]),
      seq: random.int(0, 3),
    }
    const isSampled = isOnce(3) && feeds.every(({ dataset }) => dataset === 'snapshots')
    return {
      feeds,
      range,
      order: random.pick(['asc', 'desc'] as const),
      limit: random.pick([1, 3, 20, 100, 1000]),
      filters: {
        ...(isOnce(4) ? { instruments: [...INSTRUMENTS, ''].filter(() => isOnce(2)) } : {}),
        ...(isOnce(6) ? { side: random.pick(['buy', 'long']) } : {}),
        ...(isOnce(8) ? { minUsd: random.int(1, 200) } : {}),
        ...(isOnce(8) ? { open: true as const } : {}),
      },
      ...(isOnce(3) ? { position } : {}),
      ...(isSampled ? { stepMs: random.pick([500, 1_000, 5_000, 300_000, 3_600_000]) } : {}),
    }
  }
  const somePage = (): PageQuery => ({
    ...someQuery(),
    separator: random.pick([',', '\n', ',\n']),
    ...(isOnce(2)
      ? { books: { books: isOnce(2), diffs: isOnce(2), ...(isOnce(2) ? { depth: random.int(0, 4) } : {}) } }
      : {}),
  })
  const someMarkets = (): MarketQuery => {
    const position: MarketPosition = {
      endMs: isOnce(5) ? null : START_MS + random.int(0, 30) * 5 * MINUTE_MS,
      source: random.pick(['perpdex', 'predmkt_a', 'predmkt_b'] as const),
      marketId: `0xC${random.int(0, 30)}`,
    }
    const atMs = START_MS + random.int(-5, HOURS * 60) * MINUTE_MS
    return {
      limit: random.pick([1, 4, 100]),
      separator: ',',
      ...(isOnce(2) ? { order: random.pick(['asc', 'desc'] as const) } : {}),
      ...(isOnce(3) ? { source: random.pick(['perpdex', 'predmkt_a'] as const) } : {}),
      ...(isOnce(3) ? { symbol: random.pick(['BTC', 'ETH'] as const) } : {}),
      ...(isOnce(4) ? { marketType: random.pick(['5m', '1h'] as const) } : {}),
      ...(isOnce(3) ? { state: { atMs, ...(isOnce(2) ? { active: isOnce(2) } : {}) } } : {}),
      ...(isOnce(3)
        ? { state: { atMs, status: random.pick(['upcoming', 'open', 'closed', 'resolved'] as const) } }
        : {}),
      ...(isOnce(2) ? { position } : {}),
    }
  }

  const reads: (() => (store: EnvironmentStore) => Promise<unknown>)[] = [
    function page() {
      const query = somePage()
      return async ({ series }) => plain(await series.page(query))
    },
    function walk() {
      const query = { ...somePage(), limit: random.pick([7, 30]) }
      return async ({ series }) => {
        const pages: unknown[] = []
        let page = await series.page(query)
        for (; page.last !== undefined && page.hasMore && pages.length < 10; ) {
          pages.push(plain(page))
          page = await series.page({ ...query, position: page.last })
        }
        return [...pages, plain(page)]
      }
    },
    function coveredPage() {
      const query = {
        ...somePage(),
        coverageTo: START_MS + random.int(0, HOURS * 60) * MINUTE_MS,
        maxAgeMs: 0,
      }
      return async (store) => {
        const { page, ...rest } = await store.coveredPage(query)
        return { page: plain(page), ...rest }
      }
    },
    function count() {
      const query = someQuery()
      return ({ series }) => series.count(query)
    },
    function at() {
      const query = { feeds: someFeeds(), time: START_MS + random.int(-5, HOURS * 60) * MINUTE_MS }
      const only = isOnce(3) ? { instrument: instrument() } : {}
      const books = isOnce(2) ? { books: { books: true, diffs: isOnce(2) } } : {}
      const notBefore = isOnce(3) ? { notBefore: query.time - random.int(0, 30) * MINUTE_MS } : {}
      return ({ series }) => series.at({ ...query, ...only, ...books, ...notBefore })
    },
    function coveredRow() {
      const time = START_MS + random.int(-5, HOURS * 60) * MINUTE_MS
      const query = { feeds: someFeeds(), time, coverageFrom: START_MS, coverageTo: newest }
      return (store) => store.coveredRow(query)
    },
    function coverage() {
      const [feeds, range] = [someFeeds(), someRange()]
      return (store) => store.coverage.read(feeds, range.from, range.to)
    },
    function finality() {
      const feeds = someFeeds()
      return async ({ series }) => series.finality(feeds)
    },
    function revisions() {
      const query = { feeds: someFeeds(), range: someRange(), limit: random.pick([3, 100]) }
      const only = isOnce(3) ? { instrument: instrument() } : {}
      return ({ series }) => series.revisions({ ...query, ...only })
    },
    function feeds() {
      const filter = isOnce(3) ? {} : { dataset: random.pick(FEEDS).dataset }
      return async ({ series }) => [await series.feeds(filter), await series.earliest(filter)]
    },
    function markets() {
      const query = someMarkets()
      return async ({ markets }) => [await markets.list(query), await markets.count(query)]
    },
    function oneMarket() {
      const i = random.int(0, 30)
      const name = random.pick([`0xc${i}`, `slug-${i}`, `SLUG-${i}-renamed`, `${500 + i}`, 'p1'])
      const source = isOnce(3) ? { source: 'predmkt_a' as const } : {}
      const time = START_MS + random.int(0, 180) * MINUTE_MS
      const held = { source: 'predmkt_b', symbol: 'BTC', time, limit: 3 } as const
      return async ({ markets }) => [await markets.get(name, source), await markets.holding(held)]
    },
  ]

  return {
    write,
    read() {
      // Pages are most of what is read.
      const make = isOnce(2) ? random.pick(reads.slice(0, 3)) : random.pick(reads)
      return { name: make.name, run: make() }
    },
  }
}

/** A page without the form in which an engine gives its bytes. */
function plain({ text, count, hasMore, last, firstTs, lastTs }: Page) {
  return { text, count, hasMore, last, firstTs, lastTs }
}
