import type { Services } from '../api/endpoints/services.ts'
import { symbolsCatalog } from '../api/publish/catalog.ts'
import { SYMBOLS } from '../core/symbol.ts'
import { formatTime } from '../core/time.ts'
import type { Clock } from '../kit/clock.ts'
import type { SeriesStore } from '../store/series.ts'

const FRESH_MS = 2_000

/**
 * The list stays the same object until an earliest data point changes. Callers wait for the first read of the store,
 * because a list without earliest data points would suggest that nothing is stored.
 */
export function symbolsService(series: Pick<SeriesStore, 'earliest'>, clock: Clock): Services['symbols'] {
  let body: ReturnType<typeof symbolsCatalog> | undefined
  let askedAtMs = Number.NEGATIVE_INFINITY
  let reading: Promise<ReturnType<typeof symbolsCatalog>> | undefined
  const read = async () => {
    const earliest = new Map<string, number | undefined>()
    for (const symbol of SYMBOLS) earliest.set(symbol, await series.earliest({ symbol }))
    const fresh = symbolsCatalog((symbol) => {
      const time = earliest.get(symbol)
      return time === undefined ? null : formatTime(time)
    })
    if (body === undefined || JSON.stringify(fresh) !== JSON.stringify(body)) body = fresh
    return body
  }
  return () => {
    if (body !== undefined && clock.now() - askedAtMs < FRESH_MS) return body
    askedAtMs = clock.now()
    reading ??= read().finally(() => {
      reading = undefined
    })
    return reading
  }
}
