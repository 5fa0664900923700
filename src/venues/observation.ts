/**
 * What a venue sends, in the service's own terms. Prices and sizes stay the venue's decimal text; times are
 * milliseconds since the epoch.
 *
 * A control observation travels in the same queue as the data, so its place among the data is its meaning: from a
 * `disconnected` on, and until the channel's next `subscribed`, nothing of the channel was observed.
 */
import type { CandleInterval } from '../core/interval.ts'
import type { MicroLevels } from '../core/order-book.ts'
import type { MarketInput } from '../core/rows/market.ts'
import type { SettlementPrice } from '../core/settlement.ts'
import type { Source } from '../core/source.ts'
import type { AssetSymbol } from '../core/symbol.ts'
import type { Channel } from './channel.ts'

interface Observed {
  readonly source: Source
  readonly symbol: AssetSymbol
  /** The venue's own name of the thing (`BTCUSDT`, `BTC`, a market id). */
  readonly instrument: string
  /**
   * The venue's time of the fact (trade time, book time, for spot quotes that of the frames around them); the receive
   * time where the venue gives none.
   */
  readonly venueTimeMs: number
  readonly receivedMs: number
  /** Equal for two reports of the same fact within (source, topic, symbol); null where the venue has no identity. */
  readonly key: string | null
}

/** The aggressor's side. */
export type TakerSide = 'buy' | 'sell'

/** Price, size and, where the venue sends it, the number of orders. */
export type Level = readonly [price: string, size: string, orders?: number]

/** Where in a prediction market an observation belongs. The instrument is the token, or the market without tokens. */
export interface MarketLeg {
  readonly marketId: string
  readonly tokenId: string | null
  readonly outcome: string | null
}

export interface TradeObservation extends Observed {
  readonly kind: 'trade'
  readonly id: string
  readonly price: string
  readonly size: string
  readonly side: TakerSide
  /** Prediction markets only. */
  readonly leg?: MarketLeg
  /** Negotiated away from the book: it counts as volume, but its price is in no candle. */
  readonly isBlock?: boolean
  /**
   * A trade that was requested after the fact, with a coarser time. Its id is the one that the stream gave it, so
   * a trade that is already known by its id stays as it is.
   */
  readonly isSwept?: boolean
}

/** One taker order's fills at one price, under a number that grows by one per symbol. */
export interface AggregateTradeObservation extends Observed {
  readonly kind: 'aggregate_trade'
  readonly id: number
  readonly firstTradeId: number
  readonly lastTradeId: number
  readonly price: string
  readonly size: string
  readonly side: TakerSide
}

export interface CandleObservation extends Observed {
  readonly kind: 'candle'
  readonly interval: CandleInterval
  readonly openTimeMs: number
  /** The last millisecond of the candle. */
  readonly closeTimeMs: number
  /** True only when the venue marks it so, or when a REST row's end lies before the venue's time. */
  readonly closed: boolean
  readonly open: string
  readonly high: string
  readonly low: string
  readonly close: string
  readonly volume: string
  readonly tradeCount: number
  readonly quoteVolume: string | null
  readonly takerBuyVolume: string | null
  readonly takerBuyQuoteVolume: string | null
}

export interface FundingObservation extends Observed {
  readonly kind: 'funding'
  /** The whole hour that was settled; venues stamp it some milliseconds, rarely minutes, late (`venueTimeMs`). */
  readonly fundingTimeMs: number
  readonly fundingRate: string
  readonly nextFundingTimeMs: number
  readonly markPrice: string | null
  readonly premium: string | null
}

export interface OpenInterestObservation extends Observed {
  readonly kind: 'open_interest'
  /** In units of the asset. */
  readonly openInterest: string
  /** The venue's own value, or open interest × mark of the same message; null when it takes a join. */
  readonly valueUsd: string | null
  /** From a list that was requested: as old as the list may be. */
  readonly isListed?: true
}

export interface LiquidationObservation extends Observed {
  readonly kind: 'liquidation'
  /** The side of the position that was closed. */
  readonly positionSide: 'long' | 'short'
  readonly price: string
  readonly averagePrice: string
  readonly quantity: string
  /** The venue publishes only some of them (Binance: the latest per symbol and second). */
  readonly sampled: boolean
}

/** An exchange's whole book: each one replaces the one before. */
export interface ExchangeBookObservation extends Observed {
  readonly kind: 'exchange_book'
  /** Descending. */
  readonly bids: readonly Level[]
  /** Ascending. */
  readonly asks: readonly Level[]
}

/** The whole book of an instrument of a prediction market. */
export interface BookSnapshotObservation extends Observed, MicroLevels {
  readonly kind: 'book_snapshot'
  /** `poll`: what changes until the next one is not received. */
  readonly via: 'stream' | 'rest' | 'poll'
  readonly leg: MarketLeg
}

/** A side without orders is null. */
export interface BestBidAskObservation extends Observed {
  readonly kind: 'best_bid_ask'
  readonly bid: Level | null
  readonly ask: Level | null
  readonly updateId: number | null
}

/**
 * Prediction markets: levels of one instrument's book that changed together; sizes are absolute, `0` deletes. It
 * follows a `book_snapshot` of the instrument and needs no check of its own: the venue has made them all.
 */
export interface BookDeltaObservation extends Observed, MicroLevels {
  readonly kind: 'book_delta'
  readonly leg: MarketLeg
}

/** The instrument's book is not known from here until its next `book_snapshot`. */
export interface BookLostObservation extends Observed {
  readonly kind: 'book_lost'
  readonly reason: BookLostReason
  /** Until when the book was surely right. */
  readonly sinceMs: number
  readonly leg: MarketLeg
}

export type BookLostReason =
  | 'disconnected'
  /** its top is not the top that the venue reports */
  | 'top_mismatch'
  | 'hash_mismatch'
  | 'crossed'
  /** a frame came that is older than the one before it */
  | 'out_of_order'
  | 'negative_size'
  /** more levels than any tick size allows */
  | 'too_deep'
  | 'sequence_gap'
  | 'tick_size'
  /** an open socket sends nothing of it while the venue has newer data */
  | 'frozen'
  /** the whole socket was silent for longer than it ever should be, and sends again: frames may be missing */
  | 'silence'
  /** a frame that may have changed it could not be read */
  | 'damaged'
  /** a poll of it failed */
  | 'unanswered'
  /** it is not followed any more */
  | 'ended'

/** A catalogue entry as the venue has it now: emitted when it is first seen and when it has changed. */
export interface MarketObservation extends Observed {
  readonly kind: 'market'
  readonly market: MarketInput
}

/** The venue's own running figures of a market. */
export interface MarketTickerObservation extends Observed {
  readonly kind: 'market_ticker'
  /** Null before the first trade. */
  readonly lastPrice: string | null
  readonly volume: string | null
  readonly openInterest: string | null
}

/** A tick of the price that prediction markets settle on. */
export interface ReferencePriceObservation extends Observed {
  readonly kind: 'reference_price'
  readonly price: string
  readonly settlement: SettlementPrice
  /** Another price of the same symbol is silent: this one does not prove that the channel is up. */
  readonly isPartial?: boolean
}

/** A midpoint of a token, as the venue sampled it. */
export interface MidObservation extends Observed {
  readonly kind: 'mid'
  readonly price: string
  readonly leg: MarketLeg
}

/** A candle of a yes/no contract, aligned to UTC. Prices are those of yes. */
export interface ContractCandleObservation extends Observed {
  readonly kind: 'contract_candle'
  readonly interval: CandleInterval
  readonly openTimeMs: number
  /** Null without a trade. */
  readonly price: Readonly<Record<'open' | 'high' | 'low' | 'close', string>> | null
  /** The last price before the candle. */
  readonly previous: string | null
  /** Quotes at the candle's end. */
  readonly yesBid: string | null
  readonly yesAsk: string | null
  readonly volume: string
  readonly openInterest: string | null
}

/** One answer of an oracle. */
export interface OracleRoundObservation extends Observed {
  readonly kind: 'oracle_round'
  /** Phase and round in one, above 2^53. */
  readonly roundId: bigint
  readonly price: string
  readonly updatedMs: number
}

/** The venue's own list of a market's trades was requested after its close and emitted in full before this. */
interface SweptObservation extends Observed {
  readonly kind: 'swept'
}

/** Every trade of the symbol before an instant was emitted, of all listed markets that are not swept yet. */
interface SweptToObservation extends Observed {
  readonly kind: 'swept_to'
  readonly toMs: number
}

/** The stream's numbers show that trades of the symbol between two instants may be missing. */
interface TradesLostObservation extends Observed {
  readonly kind: 'trades_lost'
  readonly fromMs: number
  readonly toMs: number
}

export type DataObservation =
  | TradeObservation
  | AggregateTradeObservation
  | CandleObservation
  | FundingObservation
  | OpenInterestObservation
  | LiquidationObservation
  | ExchangeBookObservation
  | BookSnapshotObservation
  | BestBidAskObservation
  | BookDeltaObservation
  | BookLostObservation
  | MarketObservation
  | MarketTickerObservation
  | ReferencePriceObservation
  | MidObservation
  | ContractCandleObservation
  | OracleRoundObservation
  | SweptObservation
  | SweptToObservation
  | TradesLostObservation

interface Control {
  readonly source: Source
  readonly receivedMs: number
}

/** A route (one socket's worth of channels) is open after a time in which it was not. */
interface ConnectedObservation extends Control {
  readonly kind: 'connected'
  readonly route: string
  readonly channels: readonly Channel[]
}

/** Nothing of these channels is observed from here on. `sinceMs` is when the socket last sent anything. */
interface DisconnectedObservation extends Control {
  readonly kind: 'disconnected'
  readonly route: string
  readonly channels: readonly Channel[]
  readonly reason: string
  readonly sinceMs: number
}

/** A new socket took over from the old one without a moment in between. */
interface RenewedObservation extends Control {
  readonly kind: 'renewed'
  readonly route: string
  readonly channels: readonly Channel[]
  readonly reason: string
}

/**
 * The venue accepted the channel; where it sends no acceptance, the opening of its socket counts as one. After a socket
 * that was cut because it sent nothing, an acceptance counts from the next data of its successor on.
 */
interface SubscribedObservation extends Control {
  readonly kind: 'subscribed'
  readonly channel: Channel
}

/** The channel was silent for longer than is normal while its socket was open. Reported once per silence. */
export interface StaleObservation extends Control {
  readonly kind: 'stale'
  readonly channel: Channel
  /** When it last sent data, or when it was subscribed. */
  readonly lastReceivedMs: number
}

/** A polled channel was answered, with or without something new. */
interface AnsweredObservation extends Control {
  readonly kind: 'answered'
  readonly channel: Channel
  /** Everything before this was received; left out: everything until shortly before the answer. */
  readonly observedToMs?: number
}

/** As `answered`, of a channel whose silence is a fault all the same: coverage ends here. */
interface ObservedToObservation extends Control {
  readonly kind: 'observed_to'
  readonly channel: Channel
  readonly toMs: number
}

/** A frame of this route could not be read: whatever it carried for one of these channels is missing. */
interface DamagedObservation extends Control {
  readonly kind: 'damaged'
  readonly route: string
  readonly channels: readonly Channel[]
}

export type ControlObservation =
  | ConnectedObservation
  | DisconnectedObservation
  | RenewedObservation
  | SubscribedObservation
  | StaleObservation
  | DamagedObservation
  | AnsweredObservation
  | ObservedToObservation

export type Observation = DataObservation | ControlObservation

export function isControl(observation: Observation): observation is ControlObservation {
  switch (observation.kind) {
    case 'connected':
    case 'disconnected':
    case 'renewed':
    case 'subscribed':
    case 'stale':
    case 'damaged':
    case 'answered':
    case 'observed_to':
      return true
    default:
      return false
  }
}
