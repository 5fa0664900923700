/**
 * From the venue's frame to the served row: every level of a prediction market's book is there, diffs lead from row
 * to row, and the imbalance is that of the levels that the row lists.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { composeYesNo } from '../../src/core/market-snapshot.ts'
import { OrderBook } from '../../src/core/order-book.ts'
import type { MarketInput } from '../../src/core/rows/market.ts'
import { MarketRecorder } from '../../src/ingest/prediction/record-market.ts'
import { createRowWriter } from '../../src/ingest/shared/write-rows.ts'
import { createLogger } from '../../src/kit/log.ts'
import { type Random, seeded } from '../../src/store/conformance/engine.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { createContractBook } from '../../src/venues/kalshi/book.ts'
import { aboutOf } from '../../src/venues/kalshi/mapper.ts'
import { VENUES } from '../../src/venues/list.ts'
import { TokenBook } from '../../src/venues/polymarket/book.ts'
import type { Leg } from '../../src/venues/polymarket/mapper.ts'
import { manualClock } from '../fakes/manual-clock.ts'
import { type MarketService, startMarketService } from '../fakes/market-service.ts'

const SEED = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000)
const START_MS = Date.parse('2026-11-15T12:00:00Z')
const END_MS = START_MS + 900_000
const SAMPLES = 80
const GRID_MS = 500
const TICKS = 1_000

type Levels = [number, number][]
interface Book {
  bids: Levels
  asks: Levels
}
type Row = Record<string, unknown> & { timestamp: string; imbalance: number | null; diffs: Diffs | null }
type Diffs = Record<'bids_added' | 'bids_removed' | 'asks_added' | 'asks_removed', Levels>

const MARKETS: Record<'polymarket' | 'kalshi', MarketInput> = {
  polymarket: {
    marketId: `0x${'ab'.repeat(32)}`,
    source: 'predmkt_a',
    symbol: 'BTC',
    marketType: '15m',
    tokens: ['Up', 'Down'].map((outcome) => ({ tokenId: outcome.toLowerCase(), outcome })),
    startTime: START_MS,
    endTime: END_MS,
    active: true,
    status: 'open',
  },
  kalshi: {
    marketId: 'KXBTC15M-26NOV151215',
    source: 'predmkt_b',
    symbol: 'BTC',
    marketType: '15m',
    startTime: START_MS,
    endTime: END_MS,
    active: true,
    status: 'open',
  },
}

/** Sizes by price in ticks of a tenth of a cent. */
type Sizes = { bids: Map<number, number>; asks: Map<number, number> }
const priceOf = (tick: number) => (tick / TICKS).toFixed(3)
const sorted = (sizes: Map<number, number>, direction: 1 | -1): Levels =>
  [...sizes].sort((a, b) => (a[0] - b[0]) * direction).map(([tick, size]) => [Number(priceOf(tick)), size])
const bookOf = ({ bids, asks }: Sizes): Book => ({ bids: sorted(bids, -1), asks: sorted(asks, 1) })
const mirrorOf = ({ bids, asks }: Book): Book => {
  const flip = (levels: Levels): Levels =>
    levels.map(([price, size]) => [Math.round((1 - price) * 1e6) / 1e6, size])
  return { bids: flip(asks), asks: flip(bids) }
}

function deepBook(random: Random): Sizes {
  const side = (from: number, count: number) =>
    new Map(
      random
        .shuffle(Array.from({ length: 490 }, (_, i) => from + i))
        .slice(0, count)
        .map((tick) => [tick, 1 + random.below(9_999)]),
    )
  return { bids: side(1, 60 + random.below(400)), asks: side(505, 60 + random.below(400)) }
}

/** A few changes anywhere in the book, most of them far below the top, which together make a different book. */
function changesOf(
  random: Random,
  sizes: Sizes,
): { side: 'bids' | 'asks'; tick: number; size: number; delta: number }[] {
  const textOf = () => JSON.stringify(bookOf(sizes))
  const before = textOf()
  const change = () => {
    const side = random.pick(['bids', 'asks'] as const)
    const tick = (side === 'bids' ? 1 : 505) + random.below(490)
    const old = sizes[side].get(tick) ?? 0
    const size = old > 0 && random.below(2) === 0 ? 0 : old + 1 + random.below(500)
    if (size === 0) sizes[side].delete(tick)
    else sizes[side].set(tick, size)
    return { side, tick, size, delta: size - old }
  }
  const changes = Array.from({ length: 1 + random.below(4) }, change)
  while (textOf() === before) changes.push(change())
  return changes
}

/** By the time of the row: the first book (Up, Yes). */
const truth = { polymarket: new Map<string, Book>(), kalshi: new Map<string, Book>() }

async function fill(store: EnvironmentStore): Promise<void> {
  const random = seeded(SEED)
  const clock = manualClock(START_MS)
  const writer = createRowWriter({
    store,
    random: Math.random,
    clock,
    log: createLogger({ level: 'silent' }),
  })
  await store.write({ markets: Object.values(MARKETS) })
  const recorders = {
    polymarket: recorderOf('polymarket'),
    kalshi: recorderOf('kalshi'),
  }
  function recorderOf(name: 'polymarket' | 'kalshi') {
    return new MarketRecorder({
      plan: VENUES[name].plan,
      market: MARKETS[name],
      writer,
      referencePrice: () => null,
      booksReceivedToMs: () => clock.now(),
    })
  }
  const ticker = MARKETS.kalshi.marketId
  const contract = createContractBook()
  const legs = (['Up', 'Down'] as const).map(
    (outcome): Leg => ({
      marketId: MARKETS.polymarket.marketId,
      tokenId: outcome.toLowerCase(),
      outcome,
      symbol: 'BTC',
      startMs: START_MS,
      endMs: END_MS,
    }),
  )
  const [up, down] = legs.map((leg) => new TokenBook(leg))
  assert.ok(up && down)
  const books = { polymarket: deepBook(random), kalshi: deepBook(random) }
  const texts = (sizes: Map<number, number>, flipped = false) =>
    [...sizes].map(([tick, size]) => [priceOf(flipped ? TICKS - tick : tick), `${size}.00`] as const)
  const objects = (levels: readonly (readonly [string, string])[]) =>
    levels.map(([price, size]) => ({ price, size }))

  const yes = contract.replace(
    { yes: texts(books.kalshi.bids), no: texts(books.kalshi.asks, true) },
    'stream',
    START_MS,
    aboutOf('BTC', ticker, START_MS),
  )
  assert.equal(yes?.kind, 'book_snapshot')
  recorders.kalshi.observe(yes)
  for (const [token, isUp] of [
    [up, true],
    [down, false],
  ] as const) {
    const [bids, asks] = isUp
      ? [books.polymarket.bids, books.polymarket.asks]
      : [books.polymarket.asks, books.polymarket.bids]
    const wire = { asset_id: token.leg.tokenId, market: token.leg.marketId, timestamp: `${START_MS}` }
    const taken = token.replace(
      { ...wire, bids: objects(texts(bids, !isUp)), asks: objects(texts(asks, !isUp)) },
      'stream',
      START_MS,
    )
    assert.equal(taken?.kind, 'book_snapshot')
    recorders.polymarket.observe(taken)
  }
  for (let sample = 0; sample < SAMPLES; sample++) {
    const timeMs = START_MS + sample * GRID_MS
    clock.set(timeMs)
    if (sample > 0) {
      for (const { side, tick, delta } of changesOf(random, books.kalshi)) {
        const change =
          side === 'bids'
            ? { side: 'yes' as const, price: priceOf(tick) }
            : { side: 'no' as const, price: priceOf(TICKS - tick) }
        const seen = contract.change(
          { ...change, delta: `${delta}.00` },
          timeMs,
          aboutOf('BTC', ticker, timeMs),
        )
        assert.equal(seen?.kind, 'book_delta')
        recorders.kalshi.observe(seen)
      }
      for (const { side, tick, size } of changesOf(random, books.polymarket)) {
        for (const [token, isUp] of [
          [up, true],
          [down, false],
        ] as const) {
          const wire = {
            asset_id: token.leg.tokenId,
            price: priceOf(isUp ? tick : TICKS - tick),
            size: `${size}`,
            side: (side === 'bids') === isUp ? ('BUY' as const) : ('SELL' as const),
          }
          for (const seen of token.change([wire], timeMs, timeMs) ?? []) recorders.polymarket.observe(seen)
        }
      }
    }
    for (const name of ['polymarket', 'kalshi'] as const) {
      recorders[name].sampler.tick(timeMs + 10_000)
      truth[name].set(new Date(timeMs).toISOString(), bookOf(books[name]))
    }
    if (sample % 50 === 0) await writer.flush()
  }
  await writer.flush()
}

let service: MarketService
before(async () => {
  service = await startMarketService({ nowMs: END_MS, fill })
})
after(() => service?.stop())

const cut = ({ bids, asks }: Book, depth = Number.POSITIVE_INFINITY): Book => ({
  bids: bids.slice(0, depth),
  asks: asks.slice(0, depth),
})

function imbalanceOf(book: Book, depth?: number): number | null {
  const total = (levels: Levels) => levels.reduce((sum, [, size]) => sum + size, 0)
  const { bids, asks } = cut(book, depth)
  const [bid, ask] = [total(bids), total(asks)]
  return bid + ask === 0 ? null : Number((bid / (bid + ask)).toFixed(6))
}

function applied(book: Book, diffs: Diffs): Book {
  const side = (levels: Levels, removed: Levels, added: Levels, direction: 1 | -1): Levels => {
    const gone = new Set(removed.map(String))
    const kept = levels.filter((level) => !gone.delete(String(level)))
    assert.equal(gone.size, 0, 'only levels that were there are removed')
    return [...kept, ...added].sort((a, b) => (a[0] - b[0]) * direction)
  }
  return {
    bids: side(book.bids, diffs.bids_removed, diffs.bids_added, -1),
    asks: side(book.asks, diffs.asks_removed, diffs.asks_added, 1),
  }
}

const VENUE = { predmkt_a: 'polymarket', predmkt_b: 'kalshi' } as const
const FIELDS = {
  predmkt_a: ['orderbook_up', 'orderbook_down'],
  predmkt_b: ['orderbook_yes', 'orderbook_no'],
} as const
const FROM = `symbol=BTC&start=${new Date(START_MS).toISOString()}&limit=1000`

async function rowsOf(path: string): Promise<Row[]> {
  const answer = await service.get(path)
  assert.equal(answer.status, 200, answer.text)
  return (answer.json as { data: Row[] }).data
}

/** The routes with and without books, at every kind of depth, and what each row has to list. */
const ROUTES: {
  path: string
  source: 'predmkt_a' | 'predmkt_b'
  listed: number | undefined | null
  diffs?: true
}[] = [
  ...['/v1/snapshots?source=predmkt_a', '/v1/predmkt_a/snapshots?'].flatMap((path) => [
    { path, source: 'predmkt_a' as const, listed: null },
    { path: `${path}&depth=3`, source: 'predmkt_a' as const, listed: null },
    { path: `${path}&include_orderbook=true`, source: 'predmkt_a' as const, listed: 10 },
    { path: `${path}&include_orderbook=true&depth=1`, source: 'predmkt_a' as const, listed: 1 },
    { path: `${path}&include_orderbook=true&depth=50`, source: 'predmkt_a' as const, listed: 50 },
  ]),
  {
    path: '/v1/predmkt_a/orderbook?depth=37&include_diffs=true',
    source: 'predmkt_a',
    listed: 37,
    diffs: true,
  },
  { path: '/v1/predmkt_a/orderbook?', source: 'predmkt_a', listed: 10 },
  ...['/v1/snapshots?source=predmkt_b', '/v1/predmkt_b/snapshots?'].flatMap((path) => [
    { path, source: 'predmkt_b' as const, listed: null },
    { path: `${path}&depth=3`, source: 'predmkt_b' as const, listed: null },
    {
      path: `${path}&include_diffs=true&include_orderbook=true&depth=3`,
      source: 'predmkt_b' as const,
      listed: undefined,
      diffs: true as const,
    },
  ]),
  { path: '/v1/predmkt_b/orderbook?include_diffs=true', source: 'predmkt_b', listed: undefined, diffs: true },
]

for (const { path, source, listed, diffs } of ROUTES)
  test(`${path}: the levels are the venue's, the imbalance is that of the levels listed (seed ${SEED})`, async () => {
    const books = truth[VENUE[source]]
    const rows = await rowsOf(`${path}&${FROM}`)
    assert.equal(rows.length, SAMPLES)
    let before: Book | undefined
    for (const row of rows) {
      const book = books.get(row.timestamp)
      assert.ok(book)
      assert.ok(book.bids.length > 50 && book.asks.length > 50)
      const [first, second] = FIELDS[source]
      if (listed === null) {
        assert.deepEqual([row[first], row[second]], [undefined, undefined])
        assert.equal(row.imbalance, imbalanceOf(book, source === 'predmkt_a' ? 10 : undefined))
        continue
      }
      assert.deepEqual(row[first], cut(book, listed))
      assert.deepEqual(row[second], cut(mirrorOf(book), listed))
      assert.equal(row.imbalance, imbalanceOf(book, listed))
      if (diffs) {
        if (before === undefined) assert.equal(row.diffs, null)
        else assert.deepEqual(applied(before, row.diffs as Diffs), row[first])
        before = row[first] as Book
      }
    }
  })

test('a diff of whole books names exactly the levels that changed at the venue', async () => {
  const rows = await rowsOf(`/v1/predmkt_b/snapshots?include_diffs=true&${FROM}`)
  const keys = (book: Book | undefined, side: 'bids' | 'asks') => new Set(book?.[side].map(String))
  let before: Book | undefined
  let changes = 0
  for (const row of rows) {
    const book = truth.kalshi.get(row.timestamp)
    if (before !== undefined)
      for (const side of ['bids', 'asks'] as const) {
        const old: Set<string> = keys(before, side)
        const now: Set<string> = keys(book, side)
        assert.deepEqual(new Set(row.diffs?.[`${side}_added`].map(String)), now.difference(old))
        assert.deepEqual(new Set(row.diffs?.[`${side}_removed`].map(String)), old.difference(now))
        changes += now.difference(old).size
      }
    before = book
  }
  assert.ok(changes > SAMPLES)
})

test('the snapshot at a time has every level with books and the ten best or all without', async () => {
  for (const source of ['predmkt_a', 'predmkt_b'] as const)
    for (const path of [`/v1/snapshots/at?source=${source}`, `/v1/${source}/snapshots/at?`])
      for (const withBooks of [true, false]) {
        const at = START_MS + 47 * GRID_MS + 3
        const query = `symbol=BTC&time=${at}&market_id=${MARKETS[VENUE[source]].marketId}&include_orderbook=${withBooks}`
        const { json } = await service.get(`${path}&${query}`)
        const { data } = json as { data: Row }
        const book = truth[VENUE[source]].get(data.timestamp)
        assert.ok(book)
        const [first, second] = FIELDS[source]
        assert.deepEqual(
          [data[first], data[second]],
          withBooks ? [book, mirrorOf(book)] : [undefined, undefined],
        )
        const depth = !withBooks && source === 'predmkt_a' ? 10 : undefined
        assert.equal(data.imbalance, imbalanceOf(book, depth), `${source} ${withBooks}`)
      }
})

test('very many contracts of one duration without a row do not hide that of a longer one', async () => {
  const contract = (marketId: string, marketType: '1h' | '24h'): MarketInput => ({
    ...MARKETS.kalshi,
    marketId,
    symbol: 'SOL',
    marketType,
    endTime: START_MS + 3_600_000,
  })
  const hourly = Array.from({ length: 250 }, (_, i) => contract(`KXSOLH-${1_000 + i}`, '1h'))
  const book = new OrderBook()
  book.replace([[400_000, 5_000_000]], [[600_000, 5_000_000]])
  const state = { ticker: 'KXSOLD-1', book, lastPrice: null, volume: null, openInterest: null }
  const row = composeYesNo(START_MS + GRID_MS, state)
  const feed = { dataset: 'snapshots', source: 'predmkt_b', symbol: 'SOL', interval: '1d' } as const
  await service.store.write({
    markets: [...hourly, contract('KXSOLD-1', '24h')],
    rows: [{ feed, rows: [row] }],
  })
  const { json } = await service.get(`/v1/snapshots/at?source=predmkt_b&symbol=SOL&time=${START_MS + 60_000}`)
  assert.equal((json as { data: Row | null }).data?.market_id, 'KXSOLD-1')
})

test('NDJSON and CSV carry the same imbalance as JSON', async () => {
  for (const path of [
    '/v1/predmkt_a/orderbook?depth=2',
    '/v1/predmkt_a/snapshots?',
    '/v1/predmkt_b/orderbook?',
  ]) {
    const expected = (await rowsOf(`${path}&${FROM}`)).map(({ imbalance }) => imbalance)
    const ndjson = (await service.get(`${path}&${FROM}&format=ndjson`)).text.trimEnd().split('\n')
    assert.deepEqual(
      ndjson.map((line) => JSON.parse(line).imbalance),
      expected,
    )
    const [head = '', ...lines] = (await service.get(`${path}&${FROM}&format=csv`)).text
      .trimEnd()
      .split('\r\n')
    const column = head.split(',').indexOf('imbalance')
    // No field before the imbalance contains a comma.
    assert.deepEqual(
      lines.map((line) => Number(line.split(',')[column])),
      expected,
    )
  }
})
