/**
 * Distinguishes a broken channel from a quiet market: a channel is broken if the witness has newer data than it sent.
 */
import type { DataObservation } from './observation.ts'
import type { Witness } from './venue.ts'

/**
 * True when the venue has data that the channel did not send, so that its silence is a fault. Where a channel carries
 * only times, the witness must be newer by `slackMs`, because a message may still be on its way.
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
 * Whether the witness is older than what the channel has sent; such an answer says nothing about the silence. Other
 * kinds are not checked, because the venue's later answers prove that nothing is missing.
 */
export function isOutdated({ newestMs, newestId }: Witness, last: DataObservation | undefined): boolean {
  if (last?.kind === 'best_bid_ask' && newestId !== null && last.updateId !== null)
    return newestId < last.updateId
  if (last?.kind === 'best_bid_ask' || last?.kind === 'exchange_book')
    return newestMs === null || newestMs < last.venueTimeMs
  return false
}
