/** Is a silent channel broken, or is the market quiet? The witness has newer data than the channel, or it does not. */
import type { DataObservation } from './observation.ts'
import type { Witness } from './venue.ts'

/**
 * True when the venue has data that the channel did not send: the silence is a fault. `slackMs` is how much newer
 * a time must be, for channels that only carry times: a message may be on its way.
 */
export function knowsMore(witness: Witness, last: DataObservation | undefined, slackMs: number): boolean {
  const { newestMs, newestId } = witness
  if (last === undefined) return newestMs !== null || newestId !== null
  switch (last.kind) {
    case 'aggregate_trade':
      return newestId !== null && newestId > last.id
    case 'candle':
      if (newestMs === null) return false
      return newestMs > last.openTimeMs || (newestMs === last.openTimeMs && (newestId ?? 0) > last.tradeCount)
    case 'best_bid_ask':
      if (newestId !== null && last.updateId !== null) return newestId > last.updateId
      break
    case 'trade':
      if (newestId !== null) return newestId > Number(last.id)
      return newestMs !== null && newestMs > last.venueTimeMs
  }
  return newestMs !== null && newestMs > last.venueTimeMs + slackMs
}

/**
 * Whether the witness is older than what the channel has sent: an answer of an earlier time says nothing about the
 * silence. Of the other kinds the venue's own answers prove later on that nothing is missing.
 */
export function isOutdated({ newestMs, newestId }: Witness, last: DataObservation | undefined): boolean {
  if (last?.kind === 'best_bid_ask' && newestId !== null && last.updateId !== null)
    return newestId < last.updateId
  if (last?.kind === 'best_bid_ask' || last?.kind === 'exchange_book')
    return newestMs === null || newestMs < last.venueTimeMs
  return false
}
