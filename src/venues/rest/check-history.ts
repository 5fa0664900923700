/**
 * The last check of every walk through a venue's history, for all adapters: a page that does not fit the request fails
 * the walk before any of it is stored or counts as covered.
 */
import { INTERVAL_MS } from '../../core/interval.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Topic } from '../channel.ts'
import type { DeadLetters } from '../dead-letter.ts'
import type { DataObservation } from '../observation.ts'
import type { HistoryPage, HistoryRequest, VenueDescription } from '../venue.ts'
import { misfit } from './expect-fit.ts'

type Kind = DataObservation['kind']

const KIND_OF: Readonly<Partial<Record<Topic, Kind>>> = {
  candles: 'candle',
  aggregate_trades: 'aggregate_trade',
  trades: 'trade',
  funding: 'funding',
  open_interest: 'open_interest',
  mids: 'mid',
  contract_candles: 'contract_candle',
  markets: 'market',
  oracle_rounds: 'oracle_round',
}
/** Requested once per token, each time over the whole range. */
const PER_INSTRUMENT: ReadonlySet<Topic> = new Set(['mids', 'contract_candles'])
/** Limit for consecutive pages without rows, covered or missing ranges. */
const MAX_EMPTY_PAGES = 100

export async function* checkHistory(
  pages: AsyncIterable<HistoryPage>,
  request: HistoryRequest,
  about: { describe: VenueDescription; deadLetters: DeadLetters; clock: Clock },
): AsyncGenerator<HistoryPage> {
  const check = createPageCheck(request, about.describe)
  for await (const page of pages) {
    const fault = check(page)
    if (fault !== undefined) {
      const origin = `history of ${request.topic} ${request.symbol}`
      const text = JSON.stringify(page.observations.slice(0, 3), (_, value) =>
        typeof value === 'bigint' ? String(value) : value,
      )
      throw misfit(fault, origin, { receivedMs: about.clock.now(), text }, about.deadLetters)
    }
    yield page
  }
}

/** Returns a description of the fault, or undefined for a page that fits. Pages must be passed in order. */
export function createPageCheck(
  request: HistoryRequest,
  describe: Pick<VenueDescription, 'source'>,
): (page: HistoryPage) => string | undefined {
  const { topic, range } = request
  /** Per instrument: the position of the newest row, its key, and the keys of further rows at that position. */
  const newest = new Map<string, { at: number | bigint; key: string; others: Set<string> | undefined }>()
  let settledMs = range.fromMs
  let empty = 0

  function rowFault(row: DataObservation): string | undefined {
    if (row.kind !== KIND_OF[topic]) return `a ${row.kind}, asked for ${topic}`
    if (row.source !== describe.source) return `of ${row.source}, asked for ${describe.source}`
    if (row.symbol !== request.symbol) return `of ${row.symbol}, asked for ${request.symbol}`
    return intervalFault(row, request) ?? marketFault(row, request) ?? timeFault(row) ?? orderFault(row)
  }

  function timeFault(row: DataObservation): string | undefined {
    // Markets are listed by their end, which may be postponed.
    if (row.kind === 'market') return undefined
    const timeMs = timeOf(row)
    // With `afterId`, the range only sets the end.
    const fromMs = request.afterId === undefined ? range.fromMs : Number.NEGATIVE_INFINITY
    return timeMs >= fromMs && timeMs < range.toMs
      ? undefined
      : `of ${timeMs}, asked for ${range.fromMs} to ${range.toMs}`
  }

  /** Rows must be in order and unique. */
  function orderFault(row: DataObservation): string | undefined {
    if (row.kind === 'market') return undefined
    const at = placeOf(row)
    const key = row.key ?? ''
    const known = newest.get(row.instrument)
    if (known === undefined) {
      newest.set(row.instrument, { at, key, others: undefined })
      return undefined
    }
    if (at > known.at) {
      known.at = at
      known.key = key
      known.others = undefined
      return undefined
    }
    if (at < known.at) return `${at} after ${known.at}`
    if (row.key === null) return undefined
    if (known.key === key || known.others?.has(key)) return `${key} twice`
    known.others ??= new Set()
    known.others.add(key)
    return undefined
  }

  function settledFault({ covered, missing }: HistoryPage): string | undefined {
    const settled = [...missing.map((each) => each.range), ...(covered === null ? [] : [covered])].sort(
      (a, b) => a.fromMs - b.fromMs,
    )
    for (const { fromMs, toMs } of settled) {
      const fromLeastMs = PER_INSTRUMENT.has(topic) ? range.fromMs : settledMs
      if (!(fromMs < toMs && fromMs >= fromLeastMs && toMs <= range.toMs))
        return `${fromMs} to ${toMs} settled, asked for ${range.fromMs} to ${range.toMs}`
      settledMs = toMs
    }
    return undefined
  }

  return (page) => {
    const isEmpty = page.observations.length === 0 && page.covered === null && page.missing.length === 0
    empty = isEmpty ? empty + 1 : 0
    if (empty > MAX_EMPTY_PAGES) return 'page after page without anything'
    for (const row of page.observations) {
      const fault = rowFault(row)
      if (fault !== undefined) return fault
    }
    return settledFault(page)
  }
}

function timeOf(row: DataObservation): number {
  return row.kind === 'candle' || row.kind === 'contract_candle' ? row.openTimeMs : row.venueTimeMs
}

/** The value that grows from row to row. */
function placeOf(row: DataObservation): number | bigint {
  switch (row.kind) {
    case 'aggregate_trade':
      return row.id
    case 'oracle_round':
      return row.roundId
    default:
      return timeOf(row)
  }
}

function intervalFault(row: DataObservation, request: HistoryRequest): string | undefined {
  if (row.kind !== 'candle' && row.kind !== 'contract_candle') return undefined
  if (request.interval !== undefined && row.interval !== request.interval)
    return `a candle of ${row.interval}, asked for ${request.interval}`
  if (row.openTimeMs % INTERVAL_MS[row.interval] !== 0) return `a candle off its grid: ${row.openTimeMs}`
  return row.kind === 'candle' && !row.closed ? `a candle that is still open: ${row.openTimeMs}` : undefined
}

function marketFault(row: DataObservation, request: HistoryRequest): string | undefined {
  if (request.market === undefined) return undefined
  const [asked = ''] = request.market.toLowerCase().split('#')
  const leg = 'leg' in row ? row.leg : undefined
  if (leg === undefined || leg.marketId.toLowerCase() === asked) return undefined
  return `of the market ${leg.marketId}, asked for ${asked}`
}
