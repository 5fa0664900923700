/**
 * Compares what a recorder stored with what really happened. Each comparison returns the differences as texts: a row
 * that should not exist, a wrong row, a duplicate row, and a row that is missing without a recorded gap.
 */
import type { Feed, FeedInterval } from '../../src/core/feed.ts'
import type { CandleInterval } from '../../src/core/interval.ts'
import { INTERVAL_MS } from '../../src/core/interval.ts'
import { compareBooks, compareTicker } from './compare-quotes.ts'
import { at, offGrid, type Row, read, type Subject, timeOf } from './read-feed.ts'

export { type Range, readGaps, readRows } from './read-feed.ts'

/** An observation of open interest counts for a grid point at most this much later. */
const FRESH_MS = 30_000
const HOUR_MS = 3_600_000
const SECOND_MS = 1_000
const COARSE = ['5m', '15m', '1h', '4h', '1d'] as const satisfies CandleInterval[]
const MICRO = 1e-6

async function compareCandles(subject: Subject, interval: CandleInterval): Promise<string[]> {
  const candles = await read(subject, 'candles', interval)
  const { rows, inGap, name } = candles
  const { venue, truth, symbol, range } = subject
  const lengthMs = INTERVAL_MS[interval]
  const wrong = offGrid(candles, lengthMs)
  const byTime = new Map(rows.map((row) => [timeOf(row), row]))
  const joined = venue === 'spot' ? undefined : await readJoined(subject)
  for (const candle of truth.klines(venue, symbol, interval, range.fromMs, range.toMs)) {
    const row = byTime.get(candle.openMs)
    byTime.delete(candle.openMs)
    const closeMs = candle.openMs + lengthMs
    if (closeMs > range.toMs) continue
    // The perpetual venue publishes no quiet candles, and seconds of futures are made of trades.
    const hasQuiet = venue === 'spot' || (venue === 'futures' && interval !== '1s')
    if (row === undefined && candle.trades === 0 && !hasQuiet) continue
    if (row === undefined || row.closed !== true) {
      const state = row === undefined ? 'is missing' : 'is still open'
      if (!inGap(candle.openMs, closeMs)) wrong.push(`${name}: ${at(candle.openMs)} ${state}, without a gap`)
      continue
    }
    const own = [row.open, row.high, row.low, row.close, row.volume].map(Number)
    const real = [candle.open, candle.high, candle.low, candle.close, candle.volume].map(Number)
    if (!areSame(own, real)) wrong.push(`${name}: ${at(candle.openMs)} is ${own.join()}, was ${real.join()}`)
    if (venue !== 'perp' && row.num_trades !== candle.count)
      wrong.push(`${name}: ${at(candle.openMs)} counts ${row.num_trades}, were ${candle.count}`)
    const ratio = Number(candle.volume) === 0 ? null : Number(candle.takerBuyVolume) / Number(candle.volume)
    if (venue === 'futures' && !isNear(row.taker_buy_ratio, ratio, MICRO))
      wrong.push(`${name}: ${at(candle.openMs)} taker buys ${row.taker_buy_ratio}, were ${ratio}`)
    if (joined === undefined) continue
    // A candle that waits for a better answer in a gap may have the rate before.
    if (row.funding_rate !== joined.rate(closeMs) && !inGap(candle.openMs, closeMs))
      wrong.push(
        `${name}: ${at(candle.openMs)} has the rate ${row.funding_rate}, not ${joined.rate(closeMs)}`,
      )
    // A candle that had to be closed without it is shown, and is a gap until it is known.
    if (row.open_interest !== joined.interest(closeMs) && !inGap(candle.openMs, closeMs))
      wrong.push(
        `${name}: ${at(candle.openMs)} has open interest ${row.open_interest}, not ${joined.interest(closeMs)}`,
      )
  }
  for (const timeMs of byTime.keys()) wrong.push(`${name}: a row at ${at(timeMs)} that never was`)
  return wrong
}

const areSame = (own: readonly number[], real: readonly number[]) =>
  own.every((value, index) => value === real[index] || (Number.isNaN(value) && Number.isNaN(real[index])))

const isNear = (own: unknown, real: number | null, by: number) =>
  real === null ? own === null : typeof own === 'number' && Math.abs(own - real) <= by

/** What belongs to a candle of this end: the last rate settled before it, the last stored open interest up to it. */
async function readJoined(subject: Subject) {
  const { truth, venue, symbol, range } = subject
  const past = { ...range, fromMs: range.fromMs - 9 * HOUR_MS }
  const settled = truth.funding(venue, symbol, past.fromMs, range.toMs)
  const { rows: samples } = await read(
    { ...subject, range: { ...past, toMs: range.toMs + 1 } },
    'open_interest',
    '5m',
  )
  return {
    rate: (closeMs: number) => settled.findLast(({ dueMs }) => dueMs < closeMs)?.rate ?? null,
    interest: (closeMs: number) => samples.findLast((row) => timeOf(row) <= closeMs)?.open_interest ?? null,
  }
}

async function compareTrades(subject: Subject): Promise<string[]> {
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

/** Volumes and averages follow from the venue's candles, counts from its aggregate trades: all of them are known. */
async function compareFlow(subject: Subject, interval: (typeof COARSE)[number]): Promise<string[]> {
  const flow = await read(subject, 'flow', interval)
  const { rows, inGap, name } = flow
  const { truth, venue, symbol, range } = subject
  const lengthMs = INTERVAL_MS[interval]
  const wrong = offGrid(flow, lengthMs)
  const byTime = new Map(rows.map((row) => [timeOf(row), row]))
  for (const candle of truth.klines(venue, symbol, interval, range.fromMs, range.toMs)) {
    const row = byTime.get(candle.openMs)
    byTime.delete(candle.openMs)
    if (candle.openMs + lengthMs > range.toMs) continue
    if (row === undefined) {
      if (!inGap(candle.openMs, candle.openMs + lengthMs))
        wrong.push(`${name}: no row at ${at(candle.openMs)} and no gap`)
      continue
    }
    const [volume, quote] = [Number(candle.volume), Number(candle.quoteVolume)]
    const [bought, paid] = [Number(candle.takerBuyVolume), Number(candle.takerBuyQuoteVolume)]
    const trades = truth.trades(venue, symbol, candle.openMs, candle.openMs + lengthMs)
    const buys = trades.filter((trade) => trade.side === 'buy').length
    const facts: [string, unknown, number | null, number][] = [
      ['buy_volume', row.buy_volume, bought, 0],
      ['sell_volume', row.sell_volume, volume - bought, 1e-9],
      ['net_volume', row.net_volume, 2 * bought - volume, 1e-9],
      ['buy_ratio', row.buy_ratio, volume === 0 ? null : bought / volume, MICRO],
      ['vwap_buy', row.vwap_buy, bought === 0 ? null : paid / bought, 1e-5],
      ['vwap_sell', row.vwap_sell, volume === bought ? null : (quote - paid) / (volume - bought), 1e-5],
      ['num_buys', row.num_buys, buys, 0],
      ['num_sells', row.num_sells, trades.length - buys, 0],
    ]
    // A flow row does not say that its bucket is still open: a gap does.
    const isKnown = !inGap(candle.openMs, candle.openMs + lengthMs)
    const isUncounted = (field: string, own: unknown) =>
      own === null &&
      field.startsWith('num_') &&
      subject.mayLackCounts?.(candle.openMs, candle.openMs + lengthMs) === true
    for (const [field, own, real, by] of facts)
      if (isKnown && !isNear(own, real, by) && !isUncounted(field, own))
        wrong.push(`${name}: ${at(candle.openMs)} ${field} is ${own}, was ${real}`)
  }
  for (const timeMs of byTime.keys()) wrong.push(`${name}: a row at ${at(timeMs)} that never was`)
  return wrong
}

async function compareLiquidations(subject: Subject): Promise<string[]> {
  const { rows, inGap, name } = await read(subject, 'liquidations')
  const wrong: string[] = []
  const text = (parts: readonly unknown[]) => parts.join(' ')
  const own = rows.map((row) =>
    text([timeOf(row), row.side, row.quantity, row.price, row.avg_price, row.usd_value]),
  )
  const { fromMs, toMs } = subject.range
  for (const real of subject.truth.liquidations(subject.symbol, fromMs, toMs)) {
    const [size, average] = [Number(real.size), Number(real.averagePrice)]
    const index = own.findIndex((each) => each.startsWith(`${real.timeMs} `))
    const [found = ''] = index < 0 ? [] : own.splice(index, 1)
    const usd = Number(found.split(' ').at(-1))
    if (found === '') {
      if (!inGap(real.timeMs, real.timeMs + 1)) wrong.push(`${name}: ${at(real.timeMs)} is lost`)
    } else if (
      !found.startsWith(`${text([real.timeMs, real.side, size, Number(real.price), average])} `) ||
      Math.abs(usd - size * average) > MICRO * usd
    )
      wrong.push(`${name}: ${at(real.timeMs)} differs: ${found}`)
  }
  for (const each of own) wrong.push(`${name}: ${each} never was, or is there twice`)
  return wrong
}

async function compareFunding(subject: Subject): Promise<string[]> {
  const funding = await read(subject, 'funding')
  const { truth, venue, symbol, range } = subject
  const everyMs = venue === 'perp' ? HOUR_MS : 8 * HOUR_MS
  const wrong = offGrid(funding, everyMs)
  const byTime = new Map(funding.rows.map((row) => [timeOf(row), row]))
  for (const { dueMs, rate } of truth.funding(venue, symbol, range.fromMs, range.toMs)) {
    // Due just before the range, published in it.
    if (dueMs < range.fromMs) continue
    const row = byTime.get(dueMs)
    byTime.delete(dueMs)
    if (row === undefined) {
      if (!funding.inGap(dueMs, dueMs + 1)) wrong.push(`${funding.name}: ${at(dueMs)} is lost`)
    } else if (row.funding_rate !== rate || Date.parse(String(row.next_funding_time)) !== dueMs + everyMs)
      wrong.push(`${funding.name}: ${at(dueMs)} is ${JSON.stringify(row)}, was ${rate}`)
  }
  for (const timeMs of byTime.keys()) wrong.push(`${funding.name}: ${at(timeMs)} never was`)
  return wrong
}

/** Futures publish samples; for the perpetual venue it is the last context by each grid point, sent each second. */
async function compareOpenInterest(subject: Subject, interval: (typeof COARSE)[number]): Promise<string[]> {
  const { truth, venue, symbol, range } = subject
  const interest = await read(subject, 'open_interest', interval)
  const stepMs = INTERVAL_MS[interval]
  const wrong = offGrid(interest, stepMs)
  const byTime = new Map(interest.rows.map((row) => [timeOf(row), row]))
  for (let gridMs = Math.ceil(range.fromMs / stepMs) * stepMs; gridMs < range.toMs; gridMs += stepMs) {
    const row = byTime.get(gridMs)
    if (row === undefined) {
      if (!interest.inGap(gridMs - FRESH_MS, gridMs + 1))
        wrong.push(`${interest.name}: no row at ${at(gridMs)} and no gap`)
      continue
    }
    // While the venue's clock is ahead of the recorder's, so are its values.
    const { slackMs, aheadMs = 0 } = subject.slackAt?.(gridMs) ?? subject
    const newestMs = gridMs + Math.floor(aheadMs / SECOND_MS) * SECOND_MS
    // An observation must have arrived that recently; it may have been on its way for a while.
    const lateMs = (subject.slackAt?.(gridMs - FRESH_MS) ?? subject).slackMs
    const ageMs = interest.inGap(gridMs - FRESH_MS, gridMs + 1) ? FRESH_MS + lateMs : 2 * SECOND_MS + slackMs
    const isReal =
      venue === 'futures' ? wasInterest(row, gridMs, gridMs) : wasInterest(row, newestMs, gridMs - ageMs)
    if (!isReal) wrong.push(`${interest.name}: ${at(gridMs)} never was`)
  }
  return wrong

  function wasInterest(row: Row, newestMs: number, oldestMs: number): boolean {
    for (let timeMs = newestMs; timeMs >= oldestMs; timeMs -= SECOND_MS) {
      const amount = Number(truth.openInterest(venue, symbol, timeMs))
      if (row.open_interest !== amount) continue
      // The context's mark price moves every three seconds.
      const markMs = venue === 'futures' ? timeMs : Math.floor(timeMs / 3_000) * 3_000
      const usd = amount * truth.markPrice(venue, symbol, markMs)
      // The same amount may have been sent with other prices, which have as many digits as the venue gives them.
      if (isNear(row.open_interest_usd, usd, Math.max(0.01, usd * 5e-6))) return true
    }
    return false
  }
}

/** The candles of a symbol at a venue. */
export async function compareAllCandles(subject: Subject): Promise<string[]> {
  const wrong: string[] = []
  for (const interval of ['1s', '1m', ...COARSE] as const) {
    const range = subject.rangeOf?.('candles', interval) ?? subject.range
    wrong.push(...(await compareCandles({ ...subject, range }, interval)))
  }
  return wrong
}

/** Everything that is recorded of a symbol at a venue. */
export async function compareAll(subject: Subject): Promise<string[]> {
  const { venue } = subject
  const of = (dataset: Feed['dataset'], interval: FeedInterval = ''): Subject => ({
    ...subject,
    range: subject.rangeOf?.(dataset, interval) ?? subject.range,
  })
  const wrong = await compareAllCandles(subject)
  if (venue === 'spot')
    for (const interval of COARSE) wrong.push(...(await compareFlow(of('flow', interval), interval)))
  if (venue !== 'perp') wrong.push(...(await compareTicker(of('ticker'))))
  if (venue === 'futures') wrong.push(...(await compareLiquidations(of('liquidations'))))
  if (venue !== 'spot') {
    wrong.push(...(await compareFunding(of('funding'))))
    for (const interval of COARSE)
      wrong.push(...(await compareOpenInterest(of('open_interest', interval), interval)))
  }
  if (venue === 'perp') {
    wrong.push(...(await compareTrades(of('trades'))))
    wrong.push(...(await compareBooks(of('snapshots'))))
  }
  return wrong
}

export type { Subject }
