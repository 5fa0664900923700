import { Type } from 'typebox'
import { add, decimal, decimalText, divide, subtract } from '../decimal.ts'
import type { Feed } from '../feed.ts'
import { complement, MICRO, microOf, microText, middleText } from '../micro.ts'
import { type MicroBook, sidesOfBooks } from '../micro-book.ts'
import type { Source } from '../source.ts'
import { type BookInput, type BookTop, checkMicroBook, encodeBook, microTop } from './book.ts'
import type { EncodedRow } from './encoded-row.ts'
import {
  levelsField,
  nullableFractionField,
  nullableNumberField,
  nullableTextField,
  symbolField,
  textField,
  timeField,
} from './fields.ts'
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

/** The grid of stored samples; what a row says as its `interval` unless a step was asked for. */
const SNAPSHOT_GRID = '500ms'
/** Levels per side that count for the imbalance of a row without books; every level of the other sources. */
export const IMBALANCE_DEPTH: Partial<Record<Source, number>> = { predmkt_a: 10 }
const IMBALANCE_DECIMALS = 6
const MID_EXTRA_DECIMALS = 1

const IMBALANCE_DOC =
  'Share of the bids in the size of the levels that the row lists, 6 decimals; without books: of the ten best levels (`predmkt_a`), of all levels (`predmkt_b`). Null for an empty book.'
/** Each venue's rows have a shape of their own, distinguished by their source. */
const commonOf = (source: Source) => ({
  timestamp: timeField('Time of the sample.'),
  symbol: symbolField(),
  source: Type.Literal(source, { type: 'string', description: 'Where the row was recorded.' }),
  interval: textField('Sampling step, as asked; `500ms` when every stored sample is served.'),
  market_id: nullableTextField('Condition id (`predmkt_a`) or ticker (`predmkt_b`); null for `perpdex`.'),
  best_bid: nullableNumberField('Highest bid; null without bids.'),
  best_ask: nullableNumberField('Lowest ask; null without asks.'),
  mid_price: nullableNumberField('Middle of best bid and best ask; null unless both exist.'),
  spread: nullableNumberField('best_ask minus best_bid; null unless both exist.'),
  imbalance: nullableFractionField(IMBALANCE_DOC),
})
const book = (description: string) =>
  Type.Object(
    { bids: levelsField('Bids, highest price first.'), asks: levelsField('Asks, lowest price first.') },
    { description },
  )
const diffs = (description: string) =>
  Type.Union(
    [
      Type.Object({
        bids_added: levelsField('Bid levels that are new or have a new size.'),
        bids_removed: levelsField('Bid levels that are gone or had another size.'),
        asks_added: levelsField('Ask levels that are new or have a new size.'),
        asks_removed: levelsField('Ask levels that are gone or had another size.'),
      }),
      Type.Null(),
    ],
    { description },
  )

export const PredmktASnapshotRow = Type.Object({
  ...commonOf('predmkt_a'),
  market_slug: nullableTextField('Slug of the market.'),
  question: nullableTextField('Question of the market.'),
  market_type: nullableTextField('Duration of the contract.'),
  token_up: textField('Order-book token of the Up leg.'),
  token_down: textField('Order-book token of the Down leg.'),
  price_up: nullableFractionField('Probability of Up.'),
  price_down: nullableFractionField('Probability of Down.'),
  reference_price: nullableNumberField('Price of the asset that the market settles on, at the sample.'),
  orderbook_up: Type.Optional(book('Book of the Up token, with `include_orderbook`.')),
  orderbook_down: Type.Optional(book('Book of the Down token, with `include_orderbook`.')),
  diffs: Type.Optional(
    diffs('Change of the Up book since the row before, with `include_diffs`; null for the first.'),
  ),
})
export const PredmktBSnapshotRow = Type.Object({
  ...commonOf('predmkt_b'),
  yes_bid: nullableFractionField('Highest bid for Yes.'),
  yes_ask: nullableFractionField('Lowest ask for Yes.'),
  no_bid: nullableFractionField('Highest bid for No.'),
  no_ask: nullableFractionField('Lowest ask for No.'),
  last_price: nullableFractionField('Price of the last trade.'),
  volume: nullableNumberField('Contracts traded so far.'),
  open_interest: nullableNumberField('Open contracts.'),
  orderbook_yes: Type.Optional(book('Book of Yes, with `include_orderbook`.')),
  orderbook_no: Type.Optional(book('Book of No, with `include_orderbook`.')),
  diffs: Type.Optional(
    diffs('Change of the Yes book since the row before, with `include_diffs`; null for the first.'),
  ),
})
export const PerpdexSnapshotRow = Type.Object({
  ...commonOf('perpdex'),
  bids: levelsField('Bids, highest price first; 20 levels, or the 5 of the fast feed.'),
  asks: levelsField('Asks, lowest price first; 20 levels, or the 5 of the fast feed.'),
})
/** Listed by the contract, not recorded yet. */
export const CexaSnapshotRow = Type.Object(commonOf('cexa'))
export const SnapshotRow = Type.Union([
  PredmktASnapshotRow,
  PredmktBSnapshotRow,
  PerpdexSnapshotRow,
  CexaSnapshotRow,
])
export type SnapshotRow = Type.Static<typeof SnapshotRow>

/** The names of the two books and of the fields that carry them. */
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
  /** Left out where it is the yes book seen from the other side. */
  no?: BookInput | MicroBook
}
interface BookSnapshotInput {
  time: number
  book: BookInput
}
/** Which shape is expected follows from the feed's source. */
export type SnapshotInput = UpDownSnapshotInput | YesNoSnapshotInput | BookSnapshotInput

/**
 * The row that is served without books, and the books in their storage form beside it (`perpdex` carries its
 * levels in the row). The duration of the contract is the feed's interval.
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

/** The share of the bids in the listed size. */
export function imbalanceText(bidSize: number, askSize: number): string {
  const size = bidSize + askSize
  return size === 0 ? 'null' : `${Number((bidSize / size).toFixed(IMBALANCE_DECIMALS))}`
}

/** Contract durations are written `24h` in rows; the feed stores them as `1d`. */
function marketType(feed: Feed): string {
  return feed.interval === '1d' ? '24h' : feed.interval
}

const NO_MIDDLE = { mid: 'null', spread: 'null' }

function middleOf({ bid: bidText, ask: askText }: BookTop): { mid: string; spread: string } {
  if (bidText === null || askText === null) return NO_MIDDLE
  const [bidMicro, askMicro] = [microOf(bidText), microOf(askText)]
  // A middle between two millionths is exact as a number only where it is small.
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
