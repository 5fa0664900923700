/**
 * Reads the frames of both products' streams. Each product adds its own event kinds. Unknown events are refused; known
 * ones that are not recorded are ignored. Quotes without a time get theirs from the frames around them.
 */
import { CANDLE_INTERVALS, type CandleInterval } from '../../core/interval.ts'
import type { Source } from '../../core/source.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import {
  data,
  type FrameItem,
  type FrameOutcome,
  type FrameProtocol,
  ignored,
  parseObject,
  refused,
  type TimeCheck,
} from '../live/frame.ts'
import type { BestBidAskObservation } from '../observation.ts'
import { createQuoteDater } from './date-quotes.ts'
import { type About, mapAggregateTrade, mapBookTicker, mapKlineEvent } from './mapper.ts'
import {
  AggregateTradeEvent,
  BookTickerEvent,
  ControlReply,
  Envelope,
  KlineEvent,
  ShutdownEvent,
} from './wire.ts'

interface StreamEvent {
  readonly e?: unknown
  /** When the venue sent the event. */
  readonly E?: unknown
}

/** Finds what an event is about; undefined for an instrument that is not recorded. */
type LookUp = (instrument: string) => About | undefined

/** Reads one event of the product's own kinds; undefined for any other event. */
export type ReadOwnEvent = (event: StreamEvent, lookUp: LookUp) => FrameOutcome | undefined

export const NOT_RECORDED = ignored('symbol not recorded')
/** Documented events that no plan records. */
const STREAMS_NOT_RECORDED = new Set<unknown>(['trade', 'depthUpdate', 'markPriceUpdate'])

export function createStreamReader(options: {
  source: Source
  symbolOf: (instrument: string) => AssetSymbol | undefined
  readOwnEvent?: ReadOwnEvent
}): FrameProtocol {
  const { source, symbolOf, readOwnEvent } = options
  const dater = createQuoteDater()

  function read(text: string, receivedMs: number, isTime?: TimeCheck): FrameOutcome {
    const message = parseObject(text)
    if (message === undefined) return refused('malformed')
    const event: StreamEvent = Envelope.is(message) ? message.data : message
    const lookUp: LookUp = (instrument) => {
      const symbol = symbolOf(instrument)
      return symbol === undefined ? undefined : { source, symbol, instrument, receivedMs }
    }
    const outcome = readOwnEvent?.(event, lookUp) ?? readShared(event, lookUp)
    if (outcome.kind === 'refused' && isSubscribed(message) && typeof event.e !== 'string')
      return refused('wrong_shape')
    if (outcome.kind !== 'data' && outcome.kind !== 'ignored') return outcome
    if (isInteger(event.E)) {
      if (isTime?.(event.E, receivedMs) === false)
        return outcome.kind === 'data' ? refused('implausible') : outcome
      const quotes = dater.dated(event.E, receivedMs).map(itemOf)
      if (quotes.length === 0) return outcome
      return outcome.kind === 'data'
        ? { ...outcome, items: [...quotes, ...outcome.items] }
        : { kind: 'data', items: quotes }
    }
    if (outcome.kind === 'ignored') return outcome
    const observation = outcome.items[0]?.observation
    if (observation?.kind !== 'best_bid_ask') return outcome
    return { ...outcome, items: dater.quote(observation).map(itemOf) }
  }

  return { read, accepts: false, heartbeat: null, greetingPaceMs: 0 }
}

/** A frame of a subscribed stream may have carried data, even if it does not name an event. */
const isSubscribed = ({ stream }: { readonly stream?: unknown }): boolean =>
  typeof stream === 'string' && stream.includes('@')

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value)

const itemOf = (quote: BestBidAskObservation): FrameItem => ({
  channel: `best_bid_ask:${quote.symbol}`,
  observation: quote,
})

function readShared(event: StreamEvent, lookUp: LookUp): FrameOutcome {
  switch (event.e) {
    case 'aggTrade': {
      if (!AggregateTradeEvent.is(event)) return refused('wrong_shape')
      const about = lookUp(event.s)
      if (about === undefined) return NOT_RECORDED
      return data(`aggregate_trades:${about.symbol}`, mapAggregateTrade(event, about))
    }
    case 'kline': {
      if (!KlineEvent.is(event)) return refused('wrong_shape')
      const about = lookUp(event.s)
      if (about === undefined) return NOT_RECORDED
      const interval = asInterval(event.k.i)
      if (interval === undefined) return ignored('interval not recorded')
      return data(`candles:${about.symbol}:${interval}`, mapKlineEvent(event, interval, about))
    }
    case 'bookTicker':
      return readBookTicker(event, lookUp) ?? refused('wrong_shape')
    case 'serverShutdown':
      return ShutdownEvent.is(event) ? { kind: 'leaving' } : refused('wrong_shape')
    case undefined:
      return readBookTicker(event, lookUp) ?? readControl(event)
    default:
      return STREAMS_NOT_RECORDED.has(event.e) ? ignored('stream not recorded') : refused('unknown_kind')
  }
}

/** On spot, best bid and ask come without an event type. */
function readBookTicker(event: StreamEvent, lookUp: LookUp): FrameOutcome | undefined {
  if (!BookTickerEvent.is(event)) return undefined
  const about = lookUp(event.s)
  if (about === undefined) return NOT_RECORDED
  return data(`best_bid_ask:${about.symbol}`, mapBookTicker(event, about))
}

function readControl(event: StreamEvent): FrameOutcome {
  if (!ControlReply.is(event)) return refused('unknown_kind')
  return 'result' in event ? ignored('acknowledgement') : refused('venue_error')
}

function asInterval(text: string): CandleInterval | undefined {
  return CANDLE_INTERVALS.find((interval) => interval === text)
}
