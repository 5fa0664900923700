/** `POST /info`: everything the perpetual venue answers by REST. */

import { mapInSlices } from '../server/slices.ts'
import { type BarInterval, barOpen, barStep } from '../world/bar-interval.ts'
import { barOpens } from '../world/bars.ts'
import type { World } from '../world/world.ts'
import { CANDLE_INTERVALS, contextsText, DELISTED_COIN, midsText } from './channels.ts'
import { bookText, candleText, decimalText, oldestCandle, tradeText } from './text.ts'

export interface InfoAnswer {
  readonly status: number
  readonly body: string
  readonly isText?: boolean
  readonly weight: number
}

const HOUR_MS = 3_600_000
const MAX_FUNDING_ROWS = 500
const RECENT_TRADES = 10
const UNREADABLE: InfoAnswer = {
  status: 422,
  body: 'Failed to deserialize the JSON body into the target type',
  isText: true,
  weight: 20,
}

type Body = Record<string, unknown>

export async function answerInfo(world: World, body: unknown, nowMs: number): Promise<InfoAnswer> {
  if (typeof body !== 'object' || body === null) return UNREADABLE
  const request = body as Body
  switch (request.type) {
    case 'meta':
      return ok(metaText(world), 20)
    case 'metaAndAssetCtxs':
      return ok(`[${metaText(world)},[${contextsText(world, nowMs)}]]`, 20)
    case 'allMids':
      return ok(midsText(world, nowMs), 2)
    case 'exchangeStatus':
      return ok(`{"specialStatuses":null,"time":${nowMs}}`, 2)
    case 'l2Book':
      return l2Book(world, request, nowMs)
    case 'recentTrades':
      return recentTrades(world, request, nowMs)
    case 'candleSnapshot':
      return candleSnapshot(world, request.req, nowMs)
    case 'fundingHistory':
      return fundingHistory(world, request, nowMs)
    case 'predictedFundings':
      return ok(`[${predictedFundings(world, nowMs)}]`, 20)
    default:
      return UNREADABLE
  }
}

const ok = (body: string, weight: number): InfoAnswer => ({ status: 200, body, weight })

/** The first entries of the real universe: a delisted coin stays in the list, so positions must be counted. */
function metaText(world: World): string {
  const listed = world.all('perp').map(({ market }) => ({
    szDecimals: market.sizeDecimals,
    name: market.name,
    maxLeverage: 20,
    marginTableId: 54,
  }))
  const delisted = {
    szDecimals: 1,
    name: DELISTED_COIN,
    maxLeverage: 20,
    marginTableId: 20,
    isDelisted: true,
  }
  const tiers = [
    { lowerBound: '0.0', maxLeverage: 20 },
    { lowerBound: '70000000.0', maxLeverage: 10 },
  ]
  return JSON.stringify({
    universe: [...listed.slice(0, 2), delisted, ...listed.slice(2)],
    marginTables: [[54, { description: 'tiered 20x (2)', marginTiers: tiers }]],
    collateralToken: 0,
  })
}

function l2Book(world: World, request: Body, nowMs: number): InfoAnswer {
  const { coin } = request
  if (typeof coin !== 'string') return UNREADABLE
  if (coin === DELISTED_COIN) return ok(`{"coin":"${coin}","time":${nowMs},"levels":[[],[]]}`, 2)
  const entry = world.named('perp', coin)
  if (entry === undefined) return ok('null', 2)
  return ok(bookText(entry, nowMs, 20, false), 2)
}

function recentTrades(world: World, request: Body, nowMs: number): InfoAnswer {
  const entry = typeof request.coin === 'string' ? world.named('perp', request.coin) : undefined
  if (entry === undefined) return { status: 500, body: 'null', weight: 20 }
  const { market, tape } = entry
  const rows = tape.fromId(tape.firstIdAt(nowMs + 1) - RECENT_TRADES, nowMs + 1, RECENT_TRADES).reverse()
  return ok(`[${rows.map((row) => tradeText(world.seed, market, row)).join(',')}]`, 21)
}

/** Only the newest 5,000 candles of an interval exist; the start is floored to the candle that holds it. */
async function candleSnapshot(world: World, value: unknown, nowMs: number): Promise<InfoAnswer> {
  if (typeof value !== 'object' || value === null) return UNREADABLE
  const { coin, interval, startTime, endTime } = value as Body
  const known = CANDLE_INTERVALS.find((each) => each === interval)
  if (typeof coin !== 'string' || known === undefined || typeof startTime !== 'number') return UNREADABLE
  if (endTime !== undefined && endTime !== null && typeof endTime !== 'number') return UNREADABLE
  const entry = world.named('perp', coin)
  if (entry === undefined) return { status: 500, body: 'null', weight: 20 }
  const opens = candleOpens(known, startTime, typeof endTime === 'number' ? endTime : nowMs, nowMs)
  const bars = await mapInSlices(opens, (openMs) => entry.bars.at(openMs, known, nowMs))
  const rows = bars.filter((bar) => bar.trades > 0).map((bar) => candleText(entry.market, known, bar))
  return ok(`[${rows.join(',')}]`, 20 + Math.floor(rows.length / 60))
}

function candleOpens(interval: BarInterval, startMs: number, endMs: number, nowMs: number): number[] {
  const oldestMs = oldestCandle(interval, barOpen(nowMs, interval))
  const fromMs = Math.max(oldestMs, barOpen(Math.max(0, startMs), interval))
  return barOpens(interval, { fromMs, toMs: endMs, limit: 5_000, nowMs })
}

function fundingHistory(world: World, request: Body, nowMs: number): InfoAnswer {
  const { coin, startTime, endTime } = request
  if (typeof coin !== 'string' || typeof startTime !== 'number') return UNREADABLE
  if (endTime !== undefined && endTime !== null && typeof endTime !== 'number') return UNREADABLE
  const entry = world.named('perp', coin)
  if (entry === undefined) return { status: 500, body: 'null', weight: 20 }
  const toMs = Math.min(typeof endTime === 'number' ? endTime : nowMs, nowMs)
  const rows = entry.derivatives
    .settlements(startTime, toMs, MAX_FUNDING_ROWS)
    .map(
      (row) =>
        `{"coin":"${coin}","fundingRate":"${decimalText(row.rate, 10)}","premium":"${decimalText(row.premium, 10)}","time":${row.timeMs}}`,
    )
  return ok(`[${rows.join(',')}]`, 20 + Math.floor(rows.length / 20))
}

/** `nextFundingTime` of this venue is the hour just settled, as on the real one. */
function predictedFundings(world: World, nowMs: number): string {
  const eightHours = 8 * HOUR_MS
  const nextMs = (Math.floor(nowMs / eightHours) + 1) * eightHours
  return world
    .all('perp')
    .map(({ market, derivatives }) => {
      const other = world.of('futures', market.symbol).derivatives
      const entry = (venue: string, rate: number, decimals: number, atMs: number, hours: number) =>
        `["${venue}",{"fundingRate":"${decimalText(rate, decimals)}","nextFundingTime":${atMs},"fundingIntervalHours":${hours}}]`
      return `["${market.name}",[${[
        entry('BinPerp', other.runningRate(nowMs), 8, nextMs, 8),
        entry('HlPerp', derivatives.runningRate(nowMs), 10, barOpen(nowMs, '1h'), 1),
        entry('BybitPerp', other.runningRate(barStep(nowMs, '1h', -1)), 8, nextMs, 8),
      ].join(',')}]]`
    })
    .join(',')
}
