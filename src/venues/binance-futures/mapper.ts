/** Maps futures wire types to observations. */
import { tryDecimal } from '../../core/decimal.ts'
import { dated } from '../adapter/dated.ts'
import type { SymbolMap } from '../adapter/symbol-map.ts'
import type { About } from '../binance/mapper.ts'
import { createStreamReader, NOT_RECORDED, type ReadOwnEvent } from '../binance/stream-reader.ts'
import { isRateAwaited } from '../due-rate.ts'
import { data, type FrameOutcome, type FrameProtocol, ignored, refused } from '../live/frame.ts'
import type { FundingObservation, LiquidationObservation, OpenInterestObservation } from '../observation.ts'
import { floorTo } from '../rest/history-range.ts'
import {
  ForceOrderEvent,
  type ForceOrderEventWire,
  type FundingRowWire,
  type OpenInterestRowWire,
} from './wire.ts'

const HOUR_MS = 3_600_000
const USUAL_FUNDING_HOURS = 8
const USD_MARGINED = 1

/**
 * The side of the order closes the position: selling closes a long. The venue sends no id, so the key is made of the
 * fields. It publishes at most the latest order per symbol and second, so every liquidation is marked as sampled.
 */
function mapLiquidation(wire: ForceOrderEventWire, about: About): LiquidationObservation {
  const order = wire.o
  return {
    kind: 'liquidation',
    ...about,
    venueTimeMs: order.T,
    key: `${order.T}:${order.S}:${order.p}:${order.q}:${order.ap}`,
    positionSide: order.S === 'SELL' ? 'long' : 'short',
    price: order.p,
    averagePrice: order.ap,
    quantity: order.z,
    sampled: true,
  }
}

/** Since the streams of both products were merged, a frame may be about a coin-margined contract. */
const isOurProduct = dated<(wire: ForceOrderEventWire) => boolean>(() => true, {
  from: '2026-06-30T00:00:00Z',
  use: (wire) => (wire.o.st ?? wire.st ?? USD_MARGINED) === USD_MARGINED,
})

/**
 * Rows must ascend. The next funding time of a row is the time of the next row. For the last row it is `announcedMs`, if
 * the venue announces one and no rate is awaited; otherwise it follows from the distance to the row before it, because
 * the period of a contract may change, or for a single row from `periodMs`.
 */
export function mapFundingRows(
  rows: readonly FundingRowWire[],
  about: About,
  periodMs = USUAL_FUNDING_HOURS * HOUR_MS,
  announcedMs?: number,
): FundingObservation[] {
  const regular = rows.filter((row) => (row.rateType ?? 'Regular') === 'Regular')
  const times = regular.map((row) => floorTo(row.fundingTime, HOUR_MS))
  return regular.map((row, index) => {
    const timeMs = times[index] ?? 0
    const before = times[index - 1]
    const lengthMs = before === undefined ? periodMs : timeMs - before
    const dueMs = timeMs + lengthMs
    // While a rate is awaited, the venue already announces the one after it.
    const nextMs = times[index + 1] ?? (isRateAwaited(dueMs, about.receivedMs) ? dueMs : (announcedMs ?? 0))
    return {
      kind: 'funding',
      ...about,
      venueTimeMs: row.fundingTime,
      key: String(timeMs),
      fundingTimeMs: timeMs,
      fundingRate: row.fundingRate,
      nextFundingTimeMs: nextMs > timeMs ? nextMs : dueMs,
      markPrice: row.markPrice === undefined || row.markPrice === '' ? null : row.markPrice,
      premium: null,
    }
  })
}

export function mapOpenInterestRow(wire: OpenInterestRowWire, about: About): OpenInterestObservation {
  const timeMs = Number(wire.timestamp)
  return {
    kind: 'open_interest',
    ...about,
    venueTimeMs: timeMs,
    key: String(timeMs),
    openInterest: wire.sumOpenInterest,
    valueUsd: wire.sumOpenInterestValue,
  }
}

const readOwnEvent: ReadOwnEvent = (event, lookUp): FrameOutcome | undefined => {
  switch (event.e) {
    case 'forceOrder': {
      if (!ForceOrderEvent.is(event)) return refused('wrong_shape')
      if (!isOurProduct(event.E)(event)) return ignored('not a USD-margined contract')
      const about = lookUp(event.o.s)
      if (about === undefined) return NOT_RECORDED
      if ((tryDecimal(event.o.z)?.units ?? 0n) <= 0n) return ignored('nothing was filled')
      return data(`liquidations:${about.symbol}`, mapLiquidation(event, about))
    }
    default:
      return undefined
  }
}

export function createFuturesReader(symbols: Pick<SymbolMap, 'fromVenue'>): FrameProtocol {
  return createStreamReader({ source: 'cexa_futures', symbolOf: symbols.fromVenue, readOwnEvent })
}
