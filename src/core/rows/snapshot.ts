import { add, decimal, decimalText, divide, subtract } from '../decimal.ts'
import type { Feed } from '../feed.ts'
import { complement, MICRO, microOf, microText, middleText } from '../micro.ts'
import { type MicroBook, sidesOfBooks } from '../micro-book.ts'
import type { Source } from '../source.ts'
import { type BookInput, type BookTop, checkMicroBook, encodeBook, microTop } from './book.ts'
import type { EncodedRow } from './encoded-row.ts'
import {
  absent,
  amountText,
  checkGrid,
  fractionText,
  type Numeric,
  orNull,
  positiveText,
  stringText,
  timeText,
} from './json-text.ts'
import { RowError } from './row-error.ts'

/** The grid of stored samples; the `interval` of a row unless a step was requested. */
const SNAPSHOT_GRID = '500ms'
/** Levels per side that count for the imbalance of a row without books; for the other sources every level counts. */
export const IMBALANCE_DEPTH: Partial<Record<Source, number>> = { predmkt_a: 10 }
const IMBALANCE_DECIMALS = 6
const MID_EXTRA_DECIMALS = 1

/** The names of the two books, which are also the fields that carry them. */
export const BOOK_FIELDS: Partial<Record<Source, readonly [string, string]>> = {
  predmkt_a: ['orderbook_up', 'orderbook_down'],
  predmkt_b: ['orderbook_yes', 'orderbook_no'],
}

export interface UpDownSnapshotInput {
  time: number
  marketId: string
  slug?: string | null
  question?: string | null
  tokenUp: string
  tokenDown: string
  priceUp?: Numeric | null
  priceDown?: Numeric | null
  referencePrice?: Numeric | null
  up: BookInput | MicroBook
  down: BookInput | MicroBook
}
export interface YesNoSnapshotInput {
  time: number
  marketId: string
  lastPrice?: Numeric | null
  volume?: Numeric | null
  openInterest?: Numeric | null
  yes: BookInput | MicroBook
  /** Omitted if it is the yes book seen from the other side. */
  no?: BookInput | MicroBook
}
interface BookSnapshotInput {
  time: number
  book: BookInput
}
/** The feed's source determines which shape is expected. */
export type SnapshotInput = UpDownSnapshotInput | YesNoSnapshotInput | BookSnapshotInput

/**
 * The row as it is served without books, together with its books in storage form (`perpdex` has its levels in the row).
 * The duration of the contract is the feed's interval.
 */
export function encodeSnapshot(feed: Feed<'snapshots'>, row: SnapshotInput): EncodedRow {
  const timestamp = timeText('timestamp', row.time)
  checkGrid('timestamp', row.time, SNAPSHOT_GRID)
  if (feed.source === 'predmkt_a' && 'up' in row) return encodeUpDown(feed, timestamp, row)
  if (feed.source === 'predmkt_b' && 'yes' in row) return encodeYesNo(feed, timestamp, row)
  if (feed.source === 'perpdex' && 'book' in row) {
    absent('market_type', feed.source, feed.interval || null)
    const { sides, top } = encodeBook('book', row.book)
    return {
      ts: row.time,
      instrument: '',
      seq: 0,
      closed: true,
      text: `${headText(feed, timestamp, null, top)},"bids":[${sides.bids.join()}],"asks":[${sides.asks.join()}]}`,
    }
  }
  throw new RowError('source', `${feed.source} has no snapshots of this shape`)
}

function encodeUpDown(feed: Feed<'snapshots'>, timestamp: string, row: UpDownSnapshotInput): EncodedRow {
  const up = checkMicroBook('up', row.up)
  const down = checkMicroBook('down', row.down)
  const type = feed.interval === '' ? 'null' : `"${marketType(feed)}"`
  return {
    ts: row.time,
    instrument: row.marketId,
    seq: 0,
    closed: true,
    books: sidesOfBooks(up, down),
    text: `${headText(feed, timestamp, row.marketId, microTop(up, IMBALANCE_DEPTH.predmkt_a ?? Number.POSITIVE_INFINITY))},"market_slug":${orNull(stringText, 'market_slug', row.slug)},"question":${orNull(stringText, 'question', row.question)},"market_type":${type},"token_up":${stringText('token_up', row.tokenUp)},"token_down":${stringText('token_down', row.tokenDown)},"price_up":${orNull(fractionText, 'price_up', row.priceUp)},"price_down":${orNull(fractionText, 'price_down', row.priceDown)},"reference_price":${orNull(positiveText, 'reference_price', row.referencePrice)}}`,
  }
}

function encodeYesNo(feed: Feed<'snapshots'>, timestamp: string, row: YesNoSnapshotInput): EncodedRow {
  const yes = checkMicroBook('yes', row.yes)
  const no = row.no === undefined ? undefined : checkMicroBook('no', row.no)
  const top = microTop(yes, Number.POSITIVE_INFINITY)
  const [noBid, noAsk] =
    no === undefined
      ? [yes.asks, yes.bids].map(({ prices: [price] }) => priceText(price, complement))
      : [no.bids, no.asks].map(({ prices: [price] }) => priceText(price))
  return {
    ts: row.time,
    instrument: row.marketId,
    seq: 0,
    closed: true,
    books: no === undefined ? [yes.bids, yes.asks] : sidesOfBooks(yes, no),
    text: `${headText(feed, timestamp, row.marketId, top)},"yes_bid":${top.bid},"yes_ask":${top.ask},"no_bid":${noBid},"no_ask":${noAsk},"last_price":${orNull(fractionText, 'last_price', row.lastPrice)},"volume":${orNull(amountText, 'volume', row.volume)},"open_interest":${orNull(amountText, 'open_interest', row.openInterest)}}`,
  }
}

function priceText(price: number | undefined, seenAs = (own: number) => own): string {
  return price === undefined ? 'null' : microText(seenAs(price))
}

/** The share of the bids in the total size. */
export function imbalanceText(bidSize: number, askSize: number): string {
  const size = bidSize + askSize
  return size === 0 ? 'null' : `${Number((bidSize / size).toFixed(IMBALANCE_DECIMALS))}`
}

/** Rows write the contract duration `24h`; the feed stores it as `1d`. */
function marketType(feed: Feed): string {
  return feed.interval === '1d' ? '24h' : feed.interval
}

const NO_MIDDLE = { mid: 'null', spread: 'null' }

function middleOf({ bid: bidText, ask: askText }: BookTop): { mid: string; spread: string } {
  if (bidText === null || askText === null) return NO_MIDDLE
  const [bidMicro, askMicro] = [microOf(bidText), microOf(askText)]
  // A midpoint between two millionths is a floating-point number there, which is exact only for small prices.
  if (bidMicro !== undefined && askMicro !== undefined && askMicro <= MICRO)
    return { mid: middleText(bidMicro, askMicro), spread: microText(askMicro - bidMicro) }
  const bid = decimal(bidText)
  const ask = decimal(askText)
  const middle = divide(add(bid, ask), decimal(2), Math.max(bid.scale, ask.scale) + MID_EXTRA_DECIMALS)
  return {
    mid: middle === undefined ? 'null' : decimalText(middle),
    spread: decimalText(subtract(ask, bid)),
  }
}

function headText(feed: Feed, timestamp: string, marketId: string | null, top: BookTop): string {
  const { mid, spread } = middleOf(top)
  const imbalance = imbalanceText(top.bidSize, top.askSize)
  const market = marketId === null ? 'null' : stringText('market_id', marketId)
  return `{"timestamp":${timestamp},"symbol":"${feed.symbol}","source":"${feed.source}","interval":"${SNAPSHOT_GRID}","market_id":${market},"best_bid":${top.bid},"best_ask":${top.ask},"mid_price":${mid},"spread":${spread},"imbalance":${imbalance}`
}
