/** What the venue announces about its markets as a whole. There is no word at the open and none at the close. */
import type { StrikeEvent, StrikeMarket } from '../world/strikes.ts'
import { decimalsOf } from '../world/strikes.ts'
import { REFERENCE_AFTER_MS, settledMsOf, subTitleOf, titleOf, type Venue } from './view.ts'

export interface Announcement {
  readonly market: StrikeMarket
  readonly msg: Record<string, unknown>
}

const CHECK_MS = 1_000
const BACK_MS = 3 * 3_600_000
const AHEAD_MS = 31 * 3_600_000
const DETERMINED_BEFORE_MS = 6_000

export function createLifecycle(venue: Venue): {
  /** What became due since the last call; nothing is made when nobody hears it. */
  until(toMs: number, isHeard: boolean): Announcement[]
} {
  let doneMs = venue.now()
  const { strikes } = venue.world
  return {
    until(toMs, isHeard) {
      if (toMs - doneMs < CHECK_MS) return []
      const fromMs = doneMs
      doneMs = toMs
      if (!isHeard) return []
      const isDue = (timeMs: number) => timeMs > fromMs && timeMs <= toMs
      const found: Announcement[] = []
      for (const series of strikes.series)
        for (const event of strikes.between(series, toMs - BACK_MS, toMs + AHEAD_MS)) {
          if (isDue(event.createdMs))
            found.push(...event.markets.map((market) => ({ market, msg: created(venue, event, market) })))
          if (series.kind === '15M' && isDue(event.openMs + REFERENCE_AFTER_MS))
            found.push(...event.markets.map((market) => ({ market, msg: reference(venue, market) })))
          const settledMs = settledMsOf(venue, event)
          const isLost = () =>
            venue.faults.hit('lost-resolved', 'kalshi', {
              channel: 'market_lifecycle_v2',
              symbol: series.symbol,
            }) !== undefined
          if (isDue(settledMs - DETERMINED_BEFORE_MS) && !isLost())
            found.push(
              ...event.markets.map((market) => ({
                market,
                msg: determined(venue, event, market, settledMs - DETERMINED_BEFORE_MS),
              })),
            )
          if (isDue(settledMs) && !isLost())
            found.push(
              ...event.markets.map((market) => ({
                market,
                msg: {
                  market_ticker: market.ticker,
                  event_type: 'settled',
                  settled_ts: Math.floor(settledMs / 1_000),
                },
              })),
            )
        }
      return found
    },
  }
}

function created(venue: Venue, event: StrikeEvent, market: StrikeMarket): Record<string, unknown> {
  const subTitle = subTitleOf(venue, market)
  return {
    market_ticker: market.ticker,
    event_type: 'created',
    exchange_index: 2,
    open_ts: event.openMs / 1_000,
    close_ts: event.closeMs / 1_000,
    price_level_structure: 'linear_cent',
    additional_metadata: {
      name: titleOf(event),
      title: titleOf(event),
      yes_sub_title: subTitle,
      no_sub_title: subTitle,
      rules_primary: '',
      rules_secondary: '',
      can_close_early: true,
      event_ticker: event.ticker,
      expected_expiration_ts: event.closeMs / 1_000 + 300,
      strike_type: market.strikeType,
      ...(event.series.kind === '15M' || market.floor === undefined ? {} : { floor_strike: market.floor }),
      ...(market.cap === undefined ? {} : { cap_strike: market.cap }),
    },
  }
}

const reference = (venue: Venue, market: StrikeMarket): Record<string, unknown> => ({
  market_ticker: market.ticker,
  event_type: 'metadata_updated',
  yes_sub_title: subTitleOf(venue, market),
  strike_type: market.strikeType,
  floor_strike: market.floor,
})

function determined(
  venue: Venue,
  event: StrikeEvent,
  market: StrikeMarket,
  timeMs: number,
): Record<string, unknown> {
  const isYes = venue.world.strikes.isYes(market)
  return {
    market_ticker: market.ticker,
    event_type: 'determined',
    determination_ts: Math.floor(timeMs / 1_000),
    result: isYes ? 'yes' : 'no',
    settlement_value: isYes ? '1.0000' : '0.0000',
    expiration_value: venue.world.strikes.settlement(event).toFixed(decimalsOf(event.series.symbol)),
  }
}
