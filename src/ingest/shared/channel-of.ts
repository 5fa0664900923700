/** Which channel an observation came from, and whether it proves that the channel is alive. */
import type { Channel, Topic } from '../../venues/channel.ts'
import type { DataObservation } from '../../venues/observation.ts'

const TOPIC_OF: Readonly<Record<Exclude<DataObservation['kind'], 'candle'>, Topic>> = {
  trade: 'trades',
  aggregate_trade: 'aggregate_trades',
  funding: 'funding',
  open_interest: 'open_interest',
  liquidation: 'liquidations',
  best_bid_ask: 'best_bid_ask',
  exchange_book: 'book',
  book_snapshot: 'book',
  book_delta: 'book',
  book_lost: 'book',
  market: 'markets',
  unread_markets: 'markets',
  market_ticker: 'market_ticker',
  reference_price: 'reference_price',
  mid: 'mids',
  contract_candle: 'contract_candles',
  oracle_round: 'oracle_rounds',
  oracle_round_gone: 'oracle_rounds',
  swept: 'trades',
  swept_to: 'trades',
  trades_lost: 'trades',
  figures_lost: 'open_interest',
}

export function channelOf(observation: DataObservation): Channel {
  const { symbol } = observation
  switch (observation.kind) {
    case 'candle':
      return { topic: 'candles', symbol, interval: observation.interval }
    default:
      return { topic: TOPIC_OF[observation.kind], symbol }
  }
}

/**
 * Reports of a loss, and data that we requested in a sweep or a list, do not prove that the channel is alive. Neither
 * does one reference price while another is missing.
 */
export function isSignOfLife(observation: DataObservation): boolean {
  switch (observation.kind) {
    case 'book_lost':
    case 'oracle_round_gone':
    case 'swept':
    case 'swept_to':
    case 'trades_lost':
    case 'figures_lost':
    case 'unread_markets':
      return false
    case 'trade':
      return observation.isSwept !== true
    case 'open_interest':
    case 'market_ticker':
      return observation.isListed !== true
    case 'reference_price':
      return observation.isPartial !== true
    default:
      return true
  }
}
