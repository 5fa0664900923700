import { ApiError } from '../../../core/errors.ts'
import type { Dataset, Feed } from '../../../core/feed.ts'
import { type Interval, storedInterval } from '../../../core/interval.ts'
import { resolveSource, SOURCE_INFO, type Source, type SourceName } from '../../../core/source.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import type { RowsRequest } from './list-rows.ts'

/** Feeds of a dataset, one per source. */
export function feedsOf(
  dataset: Dataset,
  sources: readonly Source[],
  symbol: AssetSymbol,
  interval: Interval | undefined,
): Feed[] {
  const stored = interval === undefined ? '' : storedInterval(interval)
  return sources.map((source) => ({ dataset, source, symbol, interval: stored }))
}

/** The source of the request or of its market, otherwise all sources that have the interval. */
export function sourcesWithInterval(
  asked: SourceName | undefined,
  all: readonly SourceName[],
  interval: Interval,
): Source[] {
  const stored = storedInterval(interval)
  const has = (source: Source) => (SOURCE_INFO[source].candleIntervals as readonly string[]).includes(stored)
  const sources = asked === undefined ? all.flatMap(sourcesNamed) : sourcesNamed(asked)
  const [only] = sources
  if (asked !== undefined && only !== undefined && !has(only)) {
    const allowed = askableIntervals(only)
    throw new ApiError('invalid_interval', `interval must be one of ${allowed.join(', ')} for ${asked}.`, {
      param: 'interval',
      allowed,
    })
  }
  return [...new Set(sources)].filter(has)
}

/** The candle intervals of a source as a request may spell them; a day has two spellings. */
export function askableIntervals(source: Source): Interval[] {
  const stored = SOURCE_INFO[source].candleIntervals
  return stored.flatMap((interval): Interval[] => (interval === '1d' ? ['1d', '24h'] : [interval]))
}

export function sourcesNamed(name: SourceName): Source[] {
  const source = resolveSource(name)
  return source === undefined ? [] : [source]
}

/** The spellings of the request that differ from those in the store. */
export function spelling(
  source: SourceName | undefined,
  interval: Interval | undefined,
): NonNullable<RowsRequest['spell']> {
  const stored = source === undefined ? undefined : resolveSource(source)
  return [
    ...(source === undefined || stored === undefined || source === stored
      ? []
      : [{ field: 'source' as const, stored, asked: source }]),
    ...(interval === undefined || interval === storedInterval(interval)
      ? []
      : [{ field: 'interval' as const, stored: storedInterval(interval), asked: interval }]),
  ]
}
