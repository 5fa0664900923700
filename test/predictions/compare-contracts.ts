/** Compares records and rows of yes/no contracts with the venue's. Each function returns the differences as lines. */
import type { EnvironmentStore } from '../../src/store/environment.ts'
import type { PredictionTruth, TrueMarket } from '../sandbox/prediction-truth.ts'
import { findMarket, type StoredSnapshot, trueTypeOf } from './compare.ts'

/** As they are served: with everything that follows from the book, and the venue's figures. */
type ContractSnapshot = StoredSnapshot & {
  yes_ask?: number | null
  no_bid?: number | null
  last_price?: number | null
  volume?: number | null
  open_interest?: number | null
}

const isNear = (value: number | null | undefined, real: number | null) =>
  real === null || value == null ? value === real : Math.abs(value - real) < 1e-6

/** Every field of a record, once the contract is settled. */
export async function compareContract(
  store: EnvironmentStore,
  truth: PredictionTruth,
  market: TrueMarket,
  /** With the delays of faults. */
  { resolvedMs }: { resolvedMs: number },
): Promise<string[]> {
  const strike = truth.strike(market.name)
  const row = await findMarket(store, market.name)
  if (strike === undefined || row === undefined) return [`${market.name}: no record`]
  const iso = (timeMs: number) => new Date(timeMs).toISOString()
  const timeOf = (text: string | null | undefined) => (text == null ? null : iso(Date.parse(text)))
  const texts: [string, unknown, unknown][] = [
    ['ticker', row.ticker, market.name],
    ['slug', row.slug, market.name.toLowerCase()],
    ['event_id', row.event_id, strike.eventId],
    ['condition_id', row.condition_id, null],
    ['question', row.question, strike.question],
    ['market_type', row.market_type, trueTypeOf(market)],
    ['start_time', timeOf(row.start_time), iso(market.startMs)],
    ['end_time', timeOf(row.end_time), iso(market.endMs)],
    // The venue writes whole seconds.
    ['resolved_at', timeOf(row.resolved_at)?.slice(0, 19), iso(resolvedMs).slice(0, 19)],
    ['created_at', timeOf(row.created_at), iso(strike.createdMs)],
    ['tokens', row.tokens.length, 0],
  ]
  const figures: [string, number | null | undefined, number | null][] = [
    ['strike', row.strike, market.reference],
    ['reference_price_start', row.reference_price_start, market.kind === '15M' ? market.reference : null],
    ['reference_price_end', row.reference_price_end, market.final],
    ['volume', row.volume, strike.volumeAt(market.endMs)],
    ['open_interest', row.open_interest, truth.openInterest(market.name, market.endMs) ?? null],
    ['liquidity', row.liquidity, null],
  ]
  return [
    ...texts.filter(([, value, real]) => value !== real),
    ...figures.filter(([, value, real]) => !isNear(value, real)),
  ].map(([field, value, real]) => `${market.name}: ${field} is ${value}, but ${real}`)
}

/**
 * What a row of a book says besides its levels: figures derived from them, and the venue's figures, none of which may
 * be from a later time.
 */
export function compareContractRow(
  truth: PredictionTruth,
  row: ContractSnapshot,
  { aheadMs }: { aheadMs: number },
): string[] {
  const strike = truth.strike(row.market_id ?? '')
  const book = row.orderbook_yes
  if (strike === undefined || book === undefined) return []
  const [bid = null, ask = null] = [book.bids[0]?.[0], book.asks[0]?.[0]]
  const other = (price: number | null) => (price === null ? null : 1 - price)
  const sum = (levels: readonly (readonly number[])[]) => levels.reduce((all, [, size = 0]) => all + size, 0)
  const [bids, asks] = [sum(book.bids), sum(book.asks)]
  const isWhole = bid !== null && ask !== null
  const figures: [string, number | null | undefined, number | null][] = [
    ['best_bid', row.best_bid, bid],
    ['best_ask', row.best_ask, ask],
    ['mid_price', row.mid_price, isWhole ? (bid + ask) / 2 : null],
    ['spread', row.spread, isWhole ? ask - bid : null],
    ['imbalance', row.imbalance, bids + asks === 0 ? null : Math.round((bids / (bids + asks)) * 1e6) / 1e6],
    ['yes_bid', row.yes_bid, bid],
    ['yes_ask', row.yes_ask, ask],
    ['no_bid', row.no_bid, other(ask)],
    ['no_ask', row.no_ask, other(bid)],
  ]
  const at = `${row.market_id} at ${row.timestamp}`
  // The second in which it was written may be that of the next frame.
  const latestMs = Date.parse(row.timestamp) + aheadMs
  const wrong = figures
    .filter(([, value, real]) => !isNear(value, real))
    .map(([field, value, real]) => `${at}: ${field} is ${value}, but ${real}`)
  if (row.volume != null && row.volume > strike.volumeAt(latestMs) + 1e-6)
    wrong.push(`${at}: volume ${row.volume} is of later`)
  if (row.open_interest != null && row.open_interest > (truth.openInterest(strike.ticker, latestMs) ?? 0))
    wrong.push(`${at}: open interest ${row.open_interest} is of later`)
  if (row.last_price != null && !strike.wasTradedAt(row.last_price, latestMs))
    wrong.push(`${at}: nothing was traded at ${row.last_price} before`)
  return wrong
}
