import type { Feed } from '../feed.ts'
import type { Source } from '../source.ts'
import type { EncodedRow } from './encoded-row.ts'
import {
  amountText,
  checkGrid,
  countText,
  fractionText,
  type Numeric,
  numberText,
  orNull,
  positiveText,
  published,
  stringText,
  timeText,
} from './json-text.ts'
import { RowError } from './row-error.ts'

/** The leg of a prediction market that a candle belongs to. */
interface CandleMarket {
  marketId: string
  slug?: string | null
  /** The instrument is the token if there is one, otherwise the market. */
  tokenId?: string | null
  outcome?: string | null
  question?: string | null
}

export interface CandleInput {
  /** Open time in milliseconds since the epoch, on the grid of the feed's interval. */
  time: number
  open: Numeric
  high: Numeric
  low: Numeric
  close: Numeric
  volume?: Numeric | null
  numTrades?: number | null
  takerBuyRatio?: Numeric | null
  fundingRate?: Numeric | null
  openInterest?: Numeric | null
  closed: boolean
  market?: CandleMarket
}

/** What each source publishes in addition to the prices. */
const PUBLISHES: Record<
  Source,
  { volume: boolean; trades: boolean; ratio: boolean; perp: boolean; market: boolean }
> = {
  cexa: { volume: true, trades: true, ratio: false, perp: false, market: false },
  cexa_futures: { volume: true, trades: true, ratio: true, perp: true, market: false },
  perpdex: { volume: true, trades: false, ratio: false, perp: true, market: false },
  predmkt_a: { volume: true, trades: false, ratio: false, perp: false, market: true },
  predmkt_b: { volume: true, trades: false, ratio: false, perp: false, market: true },
  oracle: { volume: false, trades: false, ratio: false, perp: false, market: false },
}

export function encodeCandle(feed: Feed<'candles'>, row: CandleInput): EncodedRow {
  if (feed.interval === '') throw new RowError('interval', 'a candle feed has an interval')
  const publishes = PUBLISHES[feed.source]
  const timestamp = timeText('timestamp', row.time)
  checkGrid('timestamp', row.time, feed.interval)
  const priceText = publishes.market ? fractionText : positiveText
  const open = priceText('open', row.open)
  const high = priceText('high', row.high)
  const low = priceText('low', row.low)
  const close = priceText('close', row.close)
  checkRange(Number(open), Number(high), Number(low), Number(close))
  if (publishes.volume && (row.volume === null || row.volume === undefined)) {
    throw new RowError('volume', `is published by ${feed.source}`)
  }
  const { source } = feed
  const volume = published(publishes.volume, amountText, 'volume', row.volume, source)
  const trades = published(publishes.trades, countText, 'num_trades', row.numTrades, source)
  const ratio = published(publishes.ratio, fractionText, 'taker_buy_ratio', row.takerBuyRatio, source)
  const funding = published(publishes.perp, numberText, 'funding_rate', row.fundingRate, source)
  const interest = published(publishes.perp, amountText, 'open_interest', row.openInterest, source)
  if (typeof row.closed !== 'boolean') throw new RowError('closed', 'must be true or false')
  let market = ''
  let instrument = ''
  if (publishes.market) {
    if (row.market === undefined) throw new RowError('market_id', `is needed for ${feed.source}`)
    market = marketText(row.market)
    instrument = row.market.tokenId ?? row.market.marketId
  } else if (row.market !== undefined) throw new RowError('market_id', `is not published by ${feed.source}`)
  return {
    ts: row.time,
    instrument,
    seq: 0,
    closed: row.closed,
    text: `{"timestamp":${timestamp},"symbol":"${feed.symbol}","source":"${feed.source}","interval":"${feed.interval}","open":${open},"high":${high},"low":${low},"close":${close},"volume":${volume},"num_trades":${trades},"taker_buy_ratio":${ratio},"funding_rate":${funding},"open_interest":${interest},"closed":${row.closed}${market}}`,
  }
}

function checkRange(open: number, high: number, low: number, close: number): void {
  if (high < low) throw new RowError('high', `${high} is below low ${low}`)
  if (open > high || open < low) throw new RowError('open', `${open} is outside ${low} to ${high}`)
  if (close > high || close < low) throw new RowError('close', `${close} is outside ${low} to ${high}`)
}

function marketText(market: CandleMarket): string {
  return `,"market_id":${stringText('market_id', market.marketId)},"market_slug":${orNull(stringText, 'market_slug', market.slug)},"token_id":${orNull(stringText, 'token_id', market.tokenId)},"outcome":${orNull(stringText, 'outcome', market.outcome)},"question":${orNull(stringText, 'question', market.question)}`
}
