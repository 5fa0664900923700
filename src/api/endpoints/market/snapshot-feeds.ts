import { ApiError } from '../../../core/errors.ts'
import type { Feed } from '../../../core/feed.ts'
import { storedInterval } from '../../../core/interval.ts'
import { MARKET_TYPES, type MarketType } from '../../../core/rows/market.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import { formatTime } from '../../../core/time.ts'
import type { EnvironmentStore } from '../../../store/environment.ts'
import { WRITE_DELAY_MS } from './coverage-meta.ts'

export const SNAPSHOT_SOURCES = ['predmkt_a', 'predmkt_b', 'perpdex', 'cexa'] as const
export type SnapshotSource = (typeof SNAPSHOT_SOURCES)[number]

/** Snapshots of prediction markets are stored per contract duration; those of a perpetual form one series. */
export function snapshotFeeds(
  source: SnapshotSource,
  symbol: AssetSymbol,
  type: MarketType | undefined,
): Feed<'snapshots'>[] {
  const types = source === 'perpdex' ? [''] : type === undefined ? MARKET_TYPES : [type]
  return types.map((duration) => ({
    dataset: 'snapshots',
    source,
    symbol,
    interval: duration === '' ? '' : storedInterval(duration as MarketType),
  }))
}

/**
 * Order books of the spot exchange are listed but not recorded, and the perpetual venue has no historical books, so
 * that only what was recorded is available.
 */
export async function checkAvailable(
  store: EnvironmentStore,
  source: SnapshotSource,
  symbol: AssetSymbol,
  asked: { fromMs?: number | undefined; toMs: number; nowMs: number },
): Promise<void> {
  if (source === 'cexa') {
    throw new ApiError('data_not_available', 'Snapshots of cexa are listed but not yet available.', {
      param: 'source',
    })
  }
  if (source !== 'perpdex') return
  const [feed] = await store.series.feeds({ dataset: 'snapshots', source, symbol, interval: '' })
  const { firstTs, lastTs } = feed ?? {}
  const { fromMs, toMs, nowMs } = asked
  const isBefore = firstTs === undefined || toMs < firstTs
  // The newest rows may not be written yet.
  const isPast = toMs < nowMs - WRITE_DELAY_MS
  const isAfter = lastTs === undefined || (fromMs !== undefined && fromMs > lastTs && isPast)
  if (!isBefore && !isAfter) return
  const available =
    firstTs === undefined || lastTs === undefined
      ? null
      : { from: formatTime(firstTs), to: formatTime(lastTs) }
  throw new ApiError(
    'data_not_available',
    available === null
      ? `No snapshot of perpdex is recorded for ${symbol} yet.`
      : `Snapshots of perpdex for ${symbol} are recorded from ${available.from} to ${available.to}.`,
    { available_range: available },
  )
}
