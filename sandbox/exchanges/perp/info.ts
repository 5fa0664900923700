/** `POST /info`: all REST requests of the perpetual venue. */
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../../src/core/interval.ts'
import { mapInSlices } from '../../server/slices.ts'
import type { IsListed } from '../venue-server.ts'
import { candleOpens } from '../world/candles.ts'
import type { World } from '../world/world.ts'
import { PERP_INTERVALS } from './channels.ts'
import { bookRow, candleRow, decimalText, tradeRow } from './payloads.ts'

interface InfoAnswer {
  readonly status: number
  readonly body: unknown
  readonly weight: number
}

const MAX_CANDLES = 5_000
const MAX_FUNDING_ROWS = 500
const RECENT_TRADES = 10
/** Still in the list of coins, but without a market. */
const DELISTED_COIN = 'MATIC'
const UNREADABLE: InfoAnswer = {
  status: 422,
  body: 'Failed to deserialize the JSON body into the target type',
  weight: 20,
}
const UNKNOWN_COIN: InfoAnswer = { status: 500, body: null, weight: 20 }

type Body = Record<string, unknown>

export async function answerInfo(
  about: {
    world: World
    isListed: IsListed
    nowMs: number
    /** How old the data is. */
    lagMs: number
  },
  body: unknown,
): Promise<InfoAnswer> {
  if (typeof body !== 'object' || body === null) return UNREADABLE
  const request = body as Body
  const { isListed } = about
  const named: World['named'] = (venue, name) => {
    const entry = about.world.named(venue, name)
    return entry !== undefined && isListed(entry.market.symbol) ? entry : undefined
  }
  const world: World = { ...about.world, named }
  const nowMs = about.nowMs - about.lagMs
  switch (request.type) {
    case 'meta':
      return ok(metaOf(world, isListed), 20)
    case 'exchangeStatus':
      return ok({ specialStatuses: null, time: about.nowMs }, 2)
    case 'l2Book':
      return l2Book(world, request, nowMs)
    case 'recentTrades':
      return recentTrades(world, request, nowMs)
    case 'candleSnapshot':
      return candleSnapshot(world, request.req, nowMs)
    case 'fundingHistory':
      return fundingHistory(world, request, nowMs)
    default:
      return UNREADABLE
  }
}

const ok = (body: unknown, weight: number): InfoAnswer => ({ status: 200, body, weight })

/**
 * The first entries of the real universe. A delisted coin stays in the list, so clients must count positions with it.
 */
function metaOf(world: World, isListed: IsListed): unknown {
  const listed = world.all('perp').map(({ market }) => ({
    szDecimals: market.sizeDecimals,
    name: market.name,
    maxLeverage: 20,
    marginTableId: 54,
    ...(isListed(market.symbol) ? {} : { isDelisted: true }),
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
  return {
    universe: [...listed.slice(0, 2), delisted, ...listed.slice(2)],
    marginTables: [[54, { description: 'tiered 20x (2)', marginTiers: tiers }]],
    collateralToken: 0,
  }
}

function l2Book(world: World, { coin }: Body, nowMs: number): InfoAnswer {
  if (typeof coin !== 'string') return UNREADABLE
  const entry = world.named('perp', coin)
  return ok(entry === undefined ? null : bookRow(entry, nowMs, 20), 2)
}

function recentTrades(world: World, { coin }: Body, nowMs: number): InfoAnswer {
  const entry = typeof coin === 'string' ? world.named('perp', coin) : undefined
  if (entry === undefined) return UNKNOWN_COIN
  const { market, tape } = entry
  const rows = tape.fromId(tape.firstIdAt(nowMs + 1) - RECENT_TRADES, nowMs + 1, RECENT_TRADES).reverse()
  return ok(
    rows.map((row) => tradeRow(world.seed, market, row)),
    21,
  )
}

const isTime = (value: unknown): value is number | null | undefined =>
  value === undefined || value === null || typeof value === 'number'

/** Only the newest 5,000 candles of an interval exist. The start is rounded down to the candle that contains it. */
async function candleSnapshot(world: World, value: unknown, nowMs: number): Promise<InfoAnswer> {
  if (typeof value !== 'object' || value === null) return UNREADABLE
  const { coin, interval: name, startTime, endTime } = value as Body
  const interval = PERP_INTERVALS.find((known) => known === name)
  if (typeof coin !== 'string' || interval === undefined || typeof startTime !== 'number') return UNREADABLE
  if (!isTime(endTime)) return UNREADABLE
  const entry = world.named('perp', coin)
  if (entry === undefined) return UNKNOWN_COIN
  const opens = retainedOpens(interval, startTime, endTime ?? nowMs, nowMs)
  const candles = await mapInSlices(opens, (openMs) => entry.candles.at(openMs, interval, nowMs))
  const rows = candles
    .filter((candle) => candle.trades > 0)
    .map((candle) => candleRow(entry.market, interval, candle))
  return ok(rows, 20 + Math.floor(rows.length / 60))
}

function retainedOpens(interval: CandleInterval, startMs: number, endMs: number, nowMs: number): number[] {
  const oldestMs = candleStart(nowMs, interval) - (MAX_CANDLES - 1) * INTERVAL_MS[interval]
  const fromMs = Math.max(oldestMs, candleStart(Math.max(0, startMs), interval))
  return candleOpens(interval, { fromMs, toMs: endMs, limit: MAX_CANDLES, nowMs })
}

function fundingHistory(world: World, { coin, startTime, endTime }: Body, nowMs: number): InfoAnswer {
  if (typeof coin !== 'string' || typeof startTime !== 'number' || !isTime(endTime)) return UNREADABLE
  const entry = world.named('perp', coin)
  if (entry === undefined) return UNKNOWN_COIN
  const rows = entry.derivatives
    .settlements(startTime, Math.min(endTime ?? nowMs, nowMs), MAX_FUNDING_ROWS)
    .map((row) => ({
      coin,
      fundingRate: decimalText(row.rate, 10),
      premium: decimalText(row.premium, 10),
      time: row.timeMs,
    }))
  return ok(rows, 20 + Math.floor(rows.length / 20))
}
