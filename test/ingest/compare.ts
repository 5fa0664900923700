/**
 * A store held against what really happened: every fact of a range is stored exactly once, or lies in a recorded
 * gap; nothing is stored that did not happen. Returns what is wrong, in words.
 */
import type { Feed, FeedInterval } from '../../src/core/feed.ts'
import { INTERVAL_MS } from '../../src/core/interval.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import type { SandboxExchanges } from '../../src/sandbox/exchanges/run.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { EXCHANGES, type SandboxVenue } from './recording.ts'

type Row = Record<string, unknown> & { timestamp: string }
export interface Range {
  readonly fromMs: number
  readonly toMs: number
}
interface Subject {
  readonly store: EnvironmentStore
  readonly truth: SandboxExchanges['truth']
  readonly venue: SandboxVenue
  readonly symbol: AssetSymbol
  readonly range: Range
}

const FAST_BOOK_MS = 540
const FULL_BOOK_MS = 5_400
const SAMPLE_MS = 500

export async function readRows(store: EnvironmentStore, feed: Feed, { fromMs, toMs }: Range): Promise<Row[]> {
  const page = await store.series.page({
    feeds: [feed],
    range: { from: fromMs, to: toMs },
    order: 'asc',
    limit: 200_000,
    separator: '\n',
  })
  return page.text === '' ? [] : page.text.split('\n').map((text) => JSON.parse(text) as Row)
}

export async function readGaps(store: EnvironmentStore, feed: Feed, { fromMs, toMs }: Range) {
  return (await store.coverage.read([feed], fromMs, toMs)).gaps
}

const timeOf = (row: Row) => Date.parse(row.timestamp)
const at = (timeMs: number) => new Date(timeMs).toISOString().slice(11)

function feedOf(subject: Subject, dataset: Feed['dataset'], interval: FeedInterval): Feed {
  return { dataset, source: EXCHANGES[subject.venue].source, symbol: subject.symbol, interval }
}

async function read(subject: Subject, dataset: Feed['dataset'], interval: FeedInterval = '') {
  const feed = feedOf(subject, dataset, interval)
  const rows = await readRows(subject.store, feed, subject.range)
  const gaps = await readGaps(subject.store, feed, subject.range)
  const inGap = (fromMs: number, toMs: number) => gaps.some((gap) => gap.from < toMs && gap.to > fromMs)
  return { rows, gaps, inGap, name: `${dataset} ${subject.venue} ${subject.symbol} ${interval}`.trim() }
}

export async function compareCandles(
  subject: Subject,
  interval: Exclude<FeedInterval, '' | '500ms'>,
): Promise<string[]> {
  const { rows, inGap, name } = await read(subject, 'candles', interval)
  const lengthMs = INTERVAL_MS[interval]
  const wrong: string[] = []
  const byTime = new Map(rows.map((row) => [timeOf(row), row]))
  const { fromMs, toMs } = subject.range
  const isQuiet = (count: number) => count === 0 && !(subject.venue === 'spot')
  for (const bar of subject.truth.klines(subject.venue, subject.symbol, interval, fromMs, toMs)) {
    const row = byTime.get(bar.openMs)
    byTime.delete(bar.openMs)
    if (bar.openMs + lengthMs > toMs || inGap(bar.openMs, bar.openMs + lengthMs)) continue
    if (row === undefined) {
      if (!isQuiet(bar.trades)) wrong.push(`${name}: no row at ${at(bar.openMs)} and no gap`)
      continue
    }
    const own = [row.open, row.high, row.low, row.close, row.volume].map(Number)
    const real = [bar.open, bar.high, bar.low, bar.close, bar.volume].map(Number)
    if (own.join() !== real.join())
      wrong.push(`${name}: ${at(bar.openMs)} is ${own.join()}, was ${real.join()}`)
    if (subject.venue !== 'perp' && row.num_trades !== bar.count)
      wrong.push(`${name}: ${at(bar.openMs)} counts ${row.num_trades}, were ${bar.count}`)
    if (row.closed !== true) wrong.push(`${name}: ${at(bar.openMs)} is still open`)
  }
  for (const timeMs of byTime.keys()) wrong.push(`${name}: a row at ${at(timeMs)} that never was`)
  return wrong
}

export async function compareTrades(subject: Subject): Promise<string[]> {
  const { rows, inGap, name } = await read(subject, 'trades')
  const wrong: string[] = []
  const byId = new Map(rows.map((row) => [String(row.trade_id), row]))
  if (byId.size !== rows.length) wrong.push(`${name}: ${rows.length - byId.size} rows are there twice`)
  const { fromMs, toMs } = subject.range
  for (const trade of subject.truth.trades(subject.venue, subject.symbol, fromMs, toMs)) {
    const row = byId.get(String(trade.tid))
    byId.delete(String(trade.tid))
    if (row === undefined) {
      if (!inGap(trade.timeMs, trade.timeMs + 1))
        wrong.push(`${name}: ${trade.tid} at ${at(trade.timeMs)} is lost`)
    } else if (
      timeOf(row) !== trade.timeMs ||
      Number(row.price) !== Number(trade.price) ||
      Number(row.size) !== Number(trade.size) ||
      row.side !== trade.side
    )
      wrong.push(`${name}: ${trade.tid} differs`)
  }
  for (const id of byId.keys()) wrong.push(`${name}: ${id} never was`)
  return wrong
}

export async function compareFlow(subject: Subject, interval: '5m' | '15m' | '1h'): Promise<string[]> {
  const { rows, inGap, name } = await read(subject, 'flow', interval)
  const lengthMs = INTERVAL_MS[interval]
  const wrong: string[] = []
  const { fromMs, toMs } = subject.range
  const times = new Set(rows.map(timeOf))
  for (let openMs = Math.ceil(fromMs / lengthMs) * lengthMs; openMs + lengthMs <= toMs; openMs += lengthMs)
    if (!times.has(openMs) && !inGap(openMs, openMs + lengthMs))
      wrong.push(`${name}: no row at ${at(openMs)} and no gap`)
  for (const row of rows) {
    const openMs = timeOf(row)
    if (openMs + lengthMs > toMs || inGap(openMs, openMs + lengthMs)) continue
    const trades = subject.truth.trades(subject.venue, subject.symbol, openMs, openMs + lengthMs)
    const buys = trades.filter((trade) => trade.side === 'buy')
    const volume = buys.reduce((sum, trade) => sum + Number(trade.size), 0)
    if (Math.abs(Number(row.buy_volume) - volume) > 1e-6)
      wrong.push(`${name}: ${at(openMs)} bought ${row.buy_volume}, was ${volume}`)
    if (row.num_buys !== null && row.num_buys !== buys.length)
      wrong.push(`${name}: ${at(openMs)} has ${row.num_buys} buys, were ${buys.length}`)
    if (row.num_buys !== null && row.num_sells !== trades.length - buys.length)
      wrong.push(`${name}: ${at(openMs)} has ${row.num_sells} sells`)
  }
  return wrong
}

/** Every sampled book is the venue's book of one of the moments it was told at, not long before the sample. */
export async function compareBooks(subject: Subject): Promise<string[]> {
  const { rows, name } = await read(subject, 'snapshots')
  const wrong: string[] = []
  for (const row of rows) {
    const gridMs = timeOf(row)
    const bids = row.bids as number[][]
    const stepMs = bids.length > 5 ? FULL_BOOK_MS : FAST_BOOK_MS
    let isReal = false
    for (let told = Math.floor(gridMs / stepMs) * stepMs; told > gridMs - 6_000 && !isReal; told -= stepMs) {
      const book = subject.truth.book(subject.venue, subject.symbol, told, bids.length)
      const same = (own: unknown, real: [string, string][]) =>
        JSON.stringify(own) === JSON.stringify(real.map(([price, size]) => [Number(price), Number(size)]))
      isReal = same(row.bids, book.bids) && same(row.asks, book.asks)
    }
    if (!isReal) wrong.push(`${name}: the book at ${at(gridMs)} never was`)
  }
  return wrong
}

export async function compareLiquidations(subject: Subject): Promise<string[]> {
  const { rows, inGap, name } = await read(subject, 'liquidations')
  const wrong: string[] = []
  const times = rows.map(timeOf)
  const { fromMs, toMs } = subject.range
  const all = subject.truth.liquidations(subject.symbol, fromMs, toMs)
  for (const timeMs of times)
    if (!all.some((real) => real.timeMs === timeMs)) wrong.push(`${name}: ${at(timeMs)} never was`)
  for (const real of all) {
    const count = times.filter((timeMs) => timeMs === real.timeMs).length
    if (count > 1) wrong.push(`${name}: ${at(real.timeMs)} is there ${count} times`)
    if (count === 0 && !inGap(real.timeMs, real.timeMs + 1)) wrong.push(`${name}: ${at(real.timeMs)} is lost`)
  }
  return wrong
}

/** Rows that stand on a grid: each instant once, and no other instant. */
async function compareGrid(
  subject: Subject,
  dataset: Feed['dataset'],
  gridMs: number,
  interval: FeedInterval = '',
): Promise<string[]> {
  const { rows, name } = await read(subject, dataset, interval)
  const times = rows.map(timeOf)
  return [
    ...times
      .filter((timeMs) => timeMs % gridMs !== 0)
      .map((timeMs) => `${name}: ${at(timeMs)} is off the grid`),
    ...times
      .filter((timeMs, index) => times.indexOf(timeMs) !== index)
      .map((timeMs) => `${name}: ${at(timeMs)} is there twice`),
  ]
}

/** Everything that is recorded of a symbol at a venue. */
export async function compareAll(subject: Subject): Promise<string[]> {
  const wrong: string[] = []
  for (const interval of ['1s', '1m', '5m'] as const) wrong.push(...(await compareCandles(subject, interval)))
  for (const interval of ['1s', '1m', '5m'] as const)
    wrong.push(...(await compareGrid(subject, 'candles', INTERVAL_MS[interval], interval)))
  if (subject.venue === 'perp') wrong.push(...(await compareGrid(subject, 'snapshots', SAMPLE_MS)))
  else wrong.push(...(await compareGrid(subject, 'ticker', INTERVAL_MS['1s'])))
  if (subject.venue === 'spot') wrong.push(...(await compareFlow(subject, '5m')))
  if (subject.venue === 'futures') wrong.push(...(await compareLiquidations(subject)))
  if (subject.venue === 'perp') {
    wrong.push(...(await compareTrades(subject)))
    wrong.push(...(await compareBooks(subject)))
  }
  return wrong
}
