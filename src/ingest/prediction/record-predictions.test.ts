/**
 * Some minutes of the simulated prediction markets over real sockets: stored rows are what happened, and missing data
 * is a gap. With TAPELINE_SOAK, an hour of all symbols, as dense as the service's own sandbox; otherwise some minutes
 * of one symbol around a full hour.
 */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type DocumentSchemas, documentSchemas } from '../../../test/fakes/document-schemas.ts'
import { type MarketService, startMarketService } from '../../../test/fakes/market-service.ts'
import { dataFolder } from '../../../test/fakes/service.ts'
import type { Document } from '../../../test/fakes/try-it.ts'
import {
  compareCatalogue,
  compareTrades,
  compareWindow,
  findMarket,
  idOf,
  readRows,
  type StoredSnapshot,
  snapshotFeedOf,
  trueSamples,
} from '../../../test/predictions/compare.ts'
import { compareCandles } from '../../../test/predictions/compare-candles.ts'
import { applyDiffs, type ServedDiffs, type TextBook } from '../../../test/predictions/levels.ts'
import { type PacedClock, pacedClock } from '../../../test/predictions/paced-clock.ts'
import {
  FEW_STRIKES,
  HEARTBEAT_MS,
  type PredictionsWorld,
  startPredictionsRecording,
  startPredictionsWorld,
} from '../../../test/predictions/recording.ts'
import type { TrueMarket } from '../../../test/sandbox/prediction-truth.ts'
import { answerText, buildOracleCandles } from '../../core/oracle-candles.ts'
import type { MarketType } from '../../core/rows/market.ts'
import type { CandleRow, MarketRow, OpenInterestRow } from '../../core/rows/schemas.ts'
import { type AssetSymbol, SYMBOLS } from '../../core/symbol.ts'
import { feedOf } from '../shared/feeds.ts'

const MINUTE_MS = 60_000
const isLong = process.env.TAPELINE_SOAK !== undefined
const RECORDED: readonly AssetSymbol[] = isLong ? SYMBOLS : ['BTC']
const START_MS = Date.parse('2026-11-15T09:59:20Z')
const END_MS = START_MS + (isLong ? 66 * MINUTE_MS : 520_000)
/** Everything is received from here on. */
const RECEIVED_MS = START_MS + 40_000
/** Markets that ended before this are resolved and swept. */
const DONE_MS = END_MS - 2.5 * MINUTE_MS

let world: PredictionsWorld<PacedClock>
let service: MarketService
let ended: TrueMarket[] = []
let schemas: DocumentSchemas
const folder = dataFolder()

before(async () => {
  // In the long size, running five- and fifteen-minute markets change at every grid point.
  world = await startPredictionsWorld(pacedClock(START_MS, isLong ? 100 : 500), {
    slotMs: isLong ? 100 : 1_000,
    ...FEW_STRIKES,
  })
  const { clock, sandbox } = world
  const recording = await startPredictionsRecording(world, {
    venues: ['polymarket', 'kalshi', 'chainlink'],
    symbols: RECORDED,
    folder: folder.path,
  })
  for (let atMs = START_MS; atMs < END_MS; ) {
    atMs = Math.min(atMs + 5 * MINUTE_MS, END_MS)
    await clock.runUntil(atMs)
    if (isLong)
      process.stderr.write(`${(atMs - START_MS) / MINUTE_MS} of ${(END_MS - START_MS) / MINUTE_MS} minutes\n`)
  }
  await clock.during(recording.close())
  ended = (['polymarket', 'kalshi'] as const)
    .flatMap((venue) => sandbox.truth.markets(venue, RECEIVED_MS, DONE_MS))
    .filter(({ symbol }) => RECORDED.includes(symbol))
  service = await startMarketService({ nowMs: END_MS, folder: folder.path })
  schemas = documentSchemas((await (await fetch(`${service.url}/openapi.json`)).json()) as Document)
})

after(async () => {
  await service?.stop()
  await world?.close()
  folder.remove()
})

interface List<T> {
  data: T[]
  meta: {
    next_cursor: string | null
    coverage: { complete: boolean; gaps: { from: string; to: string; reason: string }[] }
  }
}

const faultsOf = (route: string, answer: unknown) =>
  schemas.faultsAt(
    ['paths', route, 'get', 'responses', '200', 'content', 'application/json', 'schema'],
    answer,
  )

async function get<T>(path: string): Promise<List<T>> {
  const answer = await service.get(path)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(faultsOf(path.split('?')[0] ?? '', answer.json), '')
  return answer.json as unknown as List<T>
}

/** Reads all pages. */
async function all<T>(path: string): Promise<T[]> {
  const rows: T[] = []
  for (let after: string | null = ''; after !== null; ) {
    const page: List<T> = await get(after === '' ? path : `${path}&after=${after}`)
    rows.push(...page.data)
    after = page.meta.next_cursor
  }
  return rows
}

test('every market that ended is in the catalogue under all its names, with the right winner', async () => {
  const count = (venue: string) => ended.filter((market) => market.venue === venue).length
  assert.ok(
    count('polymarket') >= 3 && count('kalshi') >= (isLong ? 80 : 12),
    `${count('polymarket')} ${count('kalshi')}`,
  )
  const wrong: string[] = []
  for (const market of ended) wrong.push(...(await compareCatalogue(service.store, market)))
  assert.deepEqual(wrong, [])
})

test('an Up/Down market has the prices that it began and ended with', async () => {
  const whole = ended.filter(({ kind, startMs }) => kind === '5m' && startMs >= RECEIVED_MS)
  assert.ok(whole.length >= 1)
  // The relay skips some seconds; then the price is unknown, and not that of another second.
  let known = 0
  for (const market of whole) {
    const row = await findMarket(service.store, market.name)
    const prices = [row?.reference_price_start, row?.reference_price_end]
    for (const [index, price] of [market.reference, market.final].entries()) {
      if (prices[index] === null) continue
      known += 1
      assert.equal(prices[index]?.toFixed(6), price?.toFixed(6), market.name)
    }
  }
  assert.ok(known >= whole.length, `${known} prices of ${whole.length} markets`)
})

test('rows and gaps cover each window; each book is the one of its instant', async () => {
  const wrong: string[] = []
  let rows = 0
  for (const market of ended) {
    const found = await compareWindow(service.store, world.sandbox.truth, market, {
      fromMs: RECEIVED_MS,
      toMs: END_MS,
    })
    wrong.push(...found.wrong)
    rows += found.rows
  }
  assert.deepEqual(wrong.slice(0, 10), [])
  assert.ok(rows > (isLong ? 700 : 400), `${rows} rows`)
})

test('every market that runs has a row for each of its changes on the grid of half a second', async () => {
  const { truth } = world.sandbox
  const [fromMs, toMs] = [START_MS + 2 * MINUTE_MS, START_MS + 3 * MINUTE_MS]
  const running = (['polymarket', 'kalshi'] as const)
    .flatMap((venue) => truth.markets(venue, toMs, toMs + 26 * 60 * MINUTE_MS))
    .filter(({ symbol, startMs }) => RECORDED.includes(symbol) && startMs < fromMs - MINUTE_MS)
  const kinds = new Set(running.map(({ venue, kind }) => `${venue} ${kind}`))
  assert.equal(kinds.size, 8, [...kinds].join())
  assert.ok(running.length > (isLong ? 165 * RECORDED.length : 30), `${running.length} markets`)
  const wrong: string[] = []
  for (const market of running) {
    const type = (await findMarket(service.store, market.name))?.market_type as MarketType
    const range = { from: fromMs, to: toMs }
    const rows = await readRows(service.store, snapshotFeedOf(market, type), [idOf(market)], range)
    const expected = trueSamples(truth, market, fromMs, toMs)
    // A change sent just after a grid point belongs to the next one; an unchanged book is written once a minute.
    if (rows.length < expected * 0.95 - 1 || rows.length > expected + 2)
      wrong.push(`${market.name}: ${rows.length} rows, ${expected} changes`)
    if (market.kind === '5m' || market.kind === '15m' || market.kind === '15M')
      if (rows.length < (isLong ? 100 : 50)) wrong.push(`${market.name}: ${rows.length} rows a minute`)
  }
  assert.deepEqual(wrong, [])
})

test('a market is found by each of its identifiers over HTTP', async () => {
  const upDown = ended.find(({ kind }) => kind === '5m')
  const contract = ended.find(({ venue }) => venue === 'kalshi')
  assert.ok(upDown && contract)
  const { gammaUrl } = world.sandbox.polymarket
  const ask = () => fetch(`${gammaUrl}/markets?slug=${upDown.name}&closed=true`)
  // The other side may have just closed the kept-alive connection.
  const [gamma] = (await (await ask().catch(ask)).json()) as { id: string }[]
  assert.ok(gamma)
  const names = {
    number: gamma.id,
    condition: upDown.conditionId,
    slug: upDown.name,
    up: upDown.tokens?.[0],
    down: upDown.tokens?.[1],
    ticker: contract.name,
    'ticker in lower case': contract.name.toLowerCase(),
  }
  for (const [kind, name] of Object.entries(names)) {
    const answer = await service.get(`/v1/markets/${name}`)
    assert.equal(answer.status, 200, `${kind}: ${answer.text}`)
    assert.equal(faultsOf('/v1/markets/{identifier}', answer.json), '')
    const body = answer.json as { data?: MarketRow } & MarketRow
    const row = body.data ?? body
    const market: TrueMarket = kind.startsWith('ticker') ? contract : upDown
    assert.deepEqual([row.market_id, row.winner, row.status], [idOf(market), market.winner, 'resolved'], kind)
  }
  assert.equal((await service.get(`/v1/markets/0x${'0'.repeat(64)}`)).status, 404)
})

test('candles of contracts that had begun before the first start have a gap before it', async () => {
  const dayMs = Math.floor(START_MS / 86_400_000) * 86_400_000
  for (const interval of ['4h', '1d'] as const) {
    const path = `/v1/candles?source=predmkt_b&symbol=BTC&interval=${interval}&start=${new Date(dayMs).toISOString()}`
    const { data, meta } = await get<CandleRow>(path)
    assert.ok(data.length > (isLong ? 40 : 20), `${data.length} rows`)
    assert.ok(data.every((row) => row.closed === false))
    assert.equal(meta.coverage.complete, false)
    const [first] = data
    const openMs = Date.parse(first?.timestamp ?? '')
    assert.ok(openMs < START_MS)
    const lacking = meta.coverage.gaps.some(
      ({ from, to, reason }) =>
        Date.parse(from) <= openMs && Date.parse(to) > openMs && /before_start|not_provided/.test(reason),
    )
    assert.ok(lacking, JSON.stringify(meta.coverage))
  }
})

test('after the sweep the trades are those of the venue, each once', async () => {
  const wrong: string[] = []
  for (const market of ended.filter(({ venue, startMs }) => venue === 'polymarket' || startMs >= RECEIVED_MS))
    wrong.push(...(await compareTrades(service.store, world.sandbox.truth, market)))
  assert.deepEqual(wrong.slice(0, 10), [])
})

for (const symbol of RECORDED)
  test(`${symbol}: no_ask = 1 − yes_bid in every row`, async () => {
    const path = `/v1/snapshots?source=predmkt_b&symbol=${symbol}&start=${new Date(START_MS).toISOString()}&limit=1000`
    let rows = 0
    for (let after: string | null = ''; after !== null; ) {
      const page: List<StoredSnapshot> = await get(after === '' ? path : `${path}&after=${after}`)
      for (const { yes_bid: yes, no_ask: no } of page.data)
        assert.equal(no, yes == null ? null : Math.round((1 - yes) * 1e6) / 1e6)
      rows += page.data.length
      after = page.meta.next_cursor
    }
    assert.ok(rows > (isLong ? 1_000 : 600), `${rows} rows`)
  })

for (const [source, path, side, kind] of [
  ['kalshi', '/v1/snapshots?source=predmkt_b&include_orderbook=true', 'orderbook_yes', '15M'],
  ['kalshi', '/v1/predmkt_b/orderbook?depth=50', 'orderbook_yes', '15M'],
  ['polymarket', '/v1/predmkt_a/orderbook?depth=50', 'orderbook_up', '15m'],
] as const)
  test(`${path.split('?')[0]}, ${source}: diffs turn the first book into the last one, level for level, across pages`, async () => {
    const market = world.sandbox.truth
      .markets(source, END_MS, END_MS + 15 * MINUTE_MS)
      .find((each) => each.symbol === 'BTC' && each.kind === kind)
    assert.ok(market)
    const start = new Date(RECEIVED_MS).toISOString()
    const seen = await all<Record<typeof side, TextBook> & { diffs: ServedDiffs }>(
      `${path}&symbol=BTC&market_id=${idOf(market)}&include_diffs=true&start=${start}&limit=101`,
    )
    assert.ok(seen.length > 303, `${seen.length} rows`)
    const numbers = (book: TextBook | undefined) => JSON.stringify([book?.bids, book?.asks])
    let book = seen[0]?.[side]
    let changes = 0
    for (const row of seen.slice(1)) {
      book = applyDiffs(book as TextBook, row.diffs)
      changes += Object.values(row.diffs).flat().length
      assert.equal(numbers(book), numbers(row[side]))
    }
    assert.ok(changes > seen.length, `${changes} changes`)
  })

test('candles: a symbol has many rows a candle, a market both legs, a token one series', async () => {
  const market = ended.find(({ venue, kind }) => venue === 'polymarket' && kind === '5m')
  assert.ok(market)
  const path = `/v1/candles?source=predmkt_a&symbol=BTC&interval=5m&start=${new Date(market.startMs).toISOString()}&end=${new Date(market.endMs).toISOString()}`
  const all = await get<CandleRow>(path)
  const both = await get<CandleRow>(`${path}&market_id=${idOf(market)}`)
  const one = await get<CandleRow>(`${path}&token_id=${market.tokens?.[0]}`)
  assert.ok(all.data.length > 4, `${all.data.length} rows`)
  assert.deepEqual(both.data.map(({ outcome }) => outcome).sort(), ['Down', 'Up'])
  assert.equal(one.data.length, 1)
  const [candle] = one.data
  const trades = (world.sandbox.truth.trades(market.name, market.startMs, market.endMs) ?? []).filter(
    ({ instrument }) => instrument === market.tokens?.[0],
  )
  assert.equal(candle?.open, Number(trades[0]?.price))
  assert.equal(candle?.close, Number(trades.at(-1)?.price))
  assert.equal(candle?.high, Math.max(...trades.map(({ price }) => Number(price))))
  const volume = trades.reduce((sum, { price, size }) => sum + Number(price) * Number(size), 0)
  assert.ok(Math.abs((candle?.volume ?? 0) - volume) < 0.001, `${candle?.volume} ${volume}`)
})

/** Markets of which the window, or the time just before it, was recorded. */
const recorded = (venue: 'polymarket' | 'kalshi') =>
  world.sandbox.truth
    .markets(venue, RECEIVED_MS, END_MS + 26 * 60 * MINUTE_MS)
    .filter(({ symbol, startMs }) => RECORDED.includes(symbol) && startMs < END_MS)

for (const venue of ['polymarket', 'kalshi'] as const)
  test(`${venue}: every closed candle of every leg is that of its trades, else of its midpoints`, async () => {
    const wrong: string[] = []
    let traded = 0
    for (const [index, market] of recorded(venue).entries())
      for (const interval of ['5m', '15m', '1h'] as const) {
        const withMids = interval === '5m' && (venue === 'polymarket' || index % (isLong ? 31 : 3) === 0)
        const about = { interval, fromMs: RECEIVED_MS, toMs: END_MS, withMids }
        const found = await compareCandles(service.store, world.sandbox.truth, market, about)
        wrong.push(...found.wrong)
        traded += found.traded
      }
    assert.deepEqual(wrong.slice(0, 10), [])
    assert.ok(traded > (isLong ? 8 * RECORDED.length : 4), `${traded} candles of trades`)
  })

for (const symbol of RECORDED)
  test(`${symbol}: open interest is that of every open contract at its instant, and their sum`, async () => {
    const { truth } = world.sandbox
    const feed = feedOf('open_interest', 'predmkt_b', symbol, '5m')
    const path = `/v1/open-interest?source=predmkt_b&interval=5m&start=${new Date(RECEIVED_MS).toISOString()}`
    const sums = await get<OpenInterestRow>(`${path}&symbol=${symbol}`)
    const served = new Map(sums.data.map((row) => [Date.parse(row.timestamp), row.open_interest]))
    const wrong: string[] = []
    let points = 0
    for (let atMs = RECEIVED_MS; atMs < END_MS - 10_000; atMs += 5 * MINUTE_MS) {
      const open = truth
        .markets('kalshi', atMs + 1, atMs + 26 * 60 * MINUTE_MS)
        .filter((market) => market.symbol === symbol && market.startMs <= atMs)
      // A slow machine may receive the first figures after the first grid point, which is then not covered.
      if (!(await service.store.coverage.read([feed], atMs, atMs + 1)).complete) continue
      points += 1
      const names = open.map(({ name }) => name)
      const rows = await readRows<OpenInterestRow>(service.store, feed, names, { from: atMs, to: atMs + 1 })
      const figures = new Map(rows.map((row) => [row.market_id, row.open_interest]))
      let sum = 0
      for (const { name, startMs } of open) {
        // Figures are sent a few times a second; trades just before the grid point are included only in the next
        // figure.
        const real = Array.from({ length: 11 }, (_, step) => truth.openInterest(name, atMs - 50 * step) ?? 0)
        const contracts = figures.get(name)
        sum += contracts ?? 0
        // A contract that opens at this very instant is listed after it.
        if (contracts === undefined && startMs === atMs && real[0] === 0) continue
        if (contracts === undefined || !real.includes(contracts))
          wrong.push(`${name} at ${atMs}: ${contracts}, but ${real[0]}`)
      }
      if (served.get(atMs) !== sum) wrong.push(`sum at ${atMs}: ${served.get(atMs)}, but ${sum}`)
      const one = rows.find((row) => row.open_interest > 0)
      const alone = await get<OpenInterestRow>(`${path}&symbol=${one?.market_id}`)
      assert.deepEqual(
        alone.data.find((row) => row.timestamp === one?.timestamp),
        one,
      )
      assert.ok(sum > 0)
    }
    assert.deepEqual(wrong.slice(0, 10), [])
    assert.ok(points >= (isLong ? 12 : 1), `${points} points`)
  })

test('rows of contracts name their market; candles of the oracle are as published', async () => {
  const contracts = await get<CandleRow>('/v1/candles?source=predmkt_b&symbol=BTC&interval=5m')
  assert.ok(contracts.data.length > 40 && contracts.data.every(({ market_id }) => market_id !== undefined))
  const path = `/v1/candles?source=oracle&symbol=BTC&interval=5m&start=${new Date(START_MS - 20 * MINUTE_MS).toISOString()}`
  const oracle = await get<CandleRow>(path)
  const updates = world.sandbox.truth.rounds('BTC', START_MS - 40 * MINUTE_MS, END_MS).map((round) => ({
    roundId: BigInt(round.id),
    updatedMs: round.updatedAtS * 1_000,
    price: answerText(BigInt(round.answer), 8),
  }))
  const closed = oracle.data.filter((row) => row.closed)
  const expected = buildOracleCandles({
    interval: '5m',
    updates,
    fromMs: Date.parse(closed[0]?.timestamp ?? ''),
    toMs: Date.parse(closed.at(-1)?.timestamp ?? '') + 1,
    heartbeatMs: HEARTBEAT_MS,
  })
  assert.ok(closed.length >= 4)
  assert.deepEqual(
    closed.map(({ timestamp, open, high, low, close, volume }) => [
      timestamp,
      open,
      high,
      low,
      close,
      volume,
    ]),
    expected.map((candle) => [
      new Date(candle.openTimeMs).toISOString(),
      ...[candle.open, candle.high, candle.low, candle.close].map(Number),
      null,
    ]),
  )
})
