/**
 * What a venue sends, in the service's own terms. Prices and sizes stay the venue's decimal text; times are
 * milliseconds since the epoch.
 *
 * A control observation travels in the same queue as the data, and its position among the data matters: between a
 * `disconnected` and the channel's next `subscribed`, nothing of the channel was observed.
 */
import type { CandleInterval } from '../core/interval.ts'
import type { MicroLevels } from '../core/order-book.ts'
import type { MarketInput, MarketType } from '../core/rows/market.ts'
import type { SettlementPrice } from '../core/settlement.ts'
import type { Source } from '../core/source.ts'
import type { AssetSymbol } from '../core/symbol.ts'
import type { Channel } from './channel.ts'

interface Observed {
  readonly source: Source
  readonly symbol: AssetSymbol
  /** The venue's own name of the instrument (`BTCUSDT`, `BTC`, a market id). */
  readonly instrument: string
  /**
   * The venue's time of the fact (trade time, book time; for spot quotes, the time of the frames around them), or the
   * receive time where the venue sends none.
   */
  readonly venueTimeMs: number
  readonly receivedMs: number
  /** Equal for two reports of the same fact within (source, topic, symbol); null where the venue identifies nothing. */
  readonly key: string | null
}

/** Side of the aggressor. */
export type TakerSide = 'buy' | 'sell'

/** Price, size and, where the venue sends it, the number of orders. */
export type Level = readonly [price: string, size: string, orders?: number]

/**
 * Where in a prediction market an observation belongs. The instrument is the token, or the market where it has no
 * tokens.
 */
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
  /** Negotiated away from the order book: it counts as volume, but candles ignore its price. */
  readonly isBlock?: boolean
  /**
   * A trade that was requested later and has a coarser time. It has the same id as in the stream, so a trade that is
   * already known by its id is left unchanged.
   */
  readonly isSwept?: boolean
  /** Of a requested trade: all trades of its token in its transaction, if the answer has several. */
  readonly fills?: readonly Fill[]
}

/** One of the trades of a transaction. */
export type Fill = Pick<TradeObservation, 'id' | 'price' | 'size' | 'side'>

/** The fills of one taker order at one price, with a number that grows by one per symbol. */
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
  /** True only when the venue marks the candle as closed, or when a REST row ends before the venue's present time. */
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
  /** The whole hour that was settled. Venues stamp it some milliseconds, rarely minutes, late (`venueTimeMs`). */
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
  /** The venue's own value, or open interest × mark price of the same message; null where that would take a join. */
  readonly valueUsd: string | null
  /** Taken from a requested list, so it may be as old as the list. */
  readonly isListed?: true
}

export interface LiquidationObservation extends Observed {
  readonly kind: 'liquidation'
  /** The side of the position that was closed. */
  readonly positionSide: 'long' | 'short'
  readonly price: string
  readonly averagePrice: string
  readonly quantity: string
  /** The venue publishes only some liquidations (Binance: the latest per symbol and second). */
  readonly sampled: boolean
}

/** The whole order book of an exchange; each one replaces the one before. */
export interface ExchangeBookObservation extends Observed {
  readonly kind: 'exchange_book'
  /** Descending. */
  readonly bids: readonly Level[]
  /** Ascending. */
  readonly asks: readonly Level[]
}

/** The whole order book of one instrument of a prediction market. */
export interface BookSnapshotObservation extends Observed, MicroLevels {
  readonly kind: 'book_snapshot'
  /** `poll`: changes between two polls are not received. */
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
 * Prediction markets: levels of one instrument's order book that changed together; sizes are absolute, `0` deletes a
 * level. It follows a `book_snapshot` of the instrument and needs no further check, because the venue adapter has made
 * them all.
 */
export interface BookDeltaObservation extends Observed, MicroLevels {
  readonly kind: 'book_delta'
  readonly leg: MarketLeg
}

/** The instrument's order book is unknown from here until its next `book_snapshot`. */
export interface BookLostObservation extends Observed {
  readonly kind: 'book_lost'
  readonly reason: BookLostReason
  /** The order book was certainly right until this time. */
  readonly sinceMs: number
  readonly leg: MarketLeg
}

export type BookLostReason =
  | 'disconnected'
  /** the best bid or ask differs from what the venue reports */
  | 'top_mismatch'
  | 'hash_mismatch'
  | 'crossed'
  /** a frame arrived that is older than the one before it */
  | 'out_of_order'
  | 'negative_size'
  /** more levels than any tick size allows */
  | 'too_deep'
  | 'sequence_gap'
  | 'tick_size'
  /** an open socket sends nothing for this book although the venue has newer data */
  | 'frozen'
  /** the whole socket sends again after a silence longer than is normal, so frames may be missing */
  | 'silence'
  /** a frame that may have changed the book could not be read */
  | 'damaged'
  /** a poll of the book failed */
  | 'unanswered'
  /** the book is no longer followed */
  | 'ended'

/** A catalogue entry as the venue has it now; emitted when it is first seen and whenever it changes. */
export interface MarketObservation extends Observed {
  readonly kind: 'market'
  readonly market: MarketInput
}

/** The venue's own current figures of a market. */
export interface MarketTickerObservation extends Observed {
  readonly kind: 'market_ticker'
  /** Null before the first trade. */
  readonly lastPrice: string | null
  readonly volume: string | null
  readonly openInterest: string | null
  /** Taken from a requested list although figures are streamed. */
  readonly isListed?: true
}

/** A tick of the price that prediction markets settle on. */
export interface ReferencePriceObservation extends Observed {
  readonly kind: 'reference_price'
  readonly price: string
  readonly settlement: SettlementPrice
  /** Another price of the same symbol is silent, so this one does not prove that the channel is up. */
  readonly isPartial?: boolean
}

/** A midpoint of a token, sampled by the venue. */
export interface MidObservation extends Observed {
  readonly kind: 'mid'
  readonly price: string
  readonly leg: MarketLeg
}

/** A candle of a yes/no contract, aligned to UTC. Prices are those of the yes side. */
export interface ContractCandleObservation extends Observed {
  readonly kind: 'contract_candle'
  readonly interval: CandleInterval
  readonly openTimeMs: number
  /** Null if nothing was traded. */
  readonly price: Readonly<Record<'open' | 'high' | 'low' | 'close', string>> | null
  /** The last price before the candle. */
  readonly previous: string | null
  /** Quotes at the candle's end. */
  readonly yesBid: string | null
  readonly yesAsk: string | null
  readonly volume: string
  readonly openInterest: string | null
}

/** One answer (round) of an oracle. */
export interface OracleRoundObservation extends Observed {
  readonly kind: 'oracle_round'
  /** Phase and round combined, above 2^53. */
  readonly roundId: bigint
  readonly price: string
  readonly updatedMs: number
}

/** An answer of an oracle is no longer on the chain: its block was replaced, or the nodes do not agree on it any more. */
export interface OracleRoundGoneObservation extends Observed {
  readonly kind: 'oracle_round_gone'
  readonly roundId: bigint
  /** Whether the nodes disagree on the round; otherwise they agree that there is none. */
  readonly isDisputed: boolean
}

/**
 * Durations of the last list's markets that are not known and cannot be read; empty when all of the list could be read.
 */
interface UnreadMarketsObservation extends Observed {
  readonly kind: 'unread_markets'
  readonly marketTypes: readonly MarketType[]
}

/** The venue's list of a market's trades was requested after its close, and all of them were emitted before this. */
interface SweptObservation extends Observed {
  readonly kind: 'swept'
}

/** Every trade of the symbol before `toMs` was emitted, for all listed markets that are not swept yet. */
interface SweptToObservation extends Observed {
  readonly kind: 'swept_to'
  readonly toMs: number
}

/** The stream shows that trades of the symbol between these times may be missing. */
export interface TradesLostObservation extends Observed {
  readonly kind: 'trades_lost'
  readonly fromMs: number
  readonly toMs: number
}

/** The stream may have missed figures of a contract up to now. */
interface FiguresLostObservation extends Observed {
  readonly kind: 'figures_lost'
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
  | UnreadMarketsObservation
  | MarketTickerObservation
  | ReferencePriceObservation
  | MidObservation
  | ContractCandleObservation
  | OracleRoundObservation
  | OracleRoundGoneObservation
  | SweptObservation
  | SweptToObservation
  | TradesLostObservation
  | FiguresLostObservation

interface Control {
  readonly source: Source
  readonly receivedMs: number
}

/** A route (the channels of one socket) is open after a time in which it was not. */
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

/** A new socket took over from the old one without an interruption. */
interface RenewedObservation extends Control {
  readonly kind: 'renewed'
  readonly route: string
  readonly channels: readonly Channel[]
  readonly reason: string
}

/**
 * The venue accepted the channel or, where it sends no acceptance, its socket opened. After a socket was cut because it
 * sent nothing, an acceptance counts only from the first data of the next socket.
 */
interface SubscribedObservation extends Control {
  readonly kind: 'subscribed'
  readonly channel: Channel
}

/** The channel was silent for longer than is normal while its socket was open. Reported once per silence. */
export interface StaleObservation extends Control {
  readonly kind: 'stale'
  readonly channel: Channel
  /** When the channel last sent data, or when it was subscribed. */
  readonly lastReceivedMs: number
}

/** A request for a polled channel was answered, with or without new data. */
interface AnsweredObservation extends Control {
  readonly kind: 'answered'
  readonly channel: Channel
  /** Everything before this time was received; if omitted, everything until shortly before the answer. */
  readonly observedToMs?: number
}

/** Like `answered`, for a channel whose silence is still a fault: coverage ends at `toMs`. */
interface ObservedToObservation extends Control {
  readonly kind: 'observed_to'
  readonly channel: Channel
  readonly toMs: number
  /** Nothing before this time can be replaced any more; omitted where that is not known. */
  readonly settledMs?: number
}

/** A frame of this route could not be read; whatever it contained for these channels is missing. */
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
