import type { Services } from '../api/endpoints/services.ts'
import type { Feed } from '../core/feed.ts'
import { isSource } from '../core/source.ts'
import { SYMBOLS } from '../core/symbol.ts'
import { DAY_MS } from '../core/time.ts'
import type { StatusView } from '../dashboard/wire.ts'
import type { Coverage } from '../store/coverage.ts'

const PARTS = 48
const PART_MS = DAY_MS / PARTS
/** Recorders note what they saw a little later. */
const UNDER_WAY_MS = 90_000

/** The status of an environment with the last day of each source as a strip. */
export async function statusView(services: Services, nowMs: number): Promise<StatusView> {
  const { status, environment, ingestion, nodes, webhooks } = await services.status()
  const toMs = nowMs - UNDER_WAY_MS
  const sources = ingestion.map(async (row) => {
    const { source } = row
    const feeds: Feed[] = isSource(source)
      ? SYMBOLS.map((symbol) => ({ ...(WITNESS[source] ?? CANDLES), source, symbol }))
      : []
    const coverage = await services.market.store.coverage.read(feeds, toMs - DAY_MS, toMs)
    return { ...row, strip: stripOf(coverage, toMs - DAY_MS) }
  })
  return { environment, status, sources: await Promise.all(sources), nodes, webhooks }
}

/** The feed of each source that tells best when it was listened to. */
const CANDLES = { dataset: 'candles', interval: '1m' } as const
const WITNESS: Partial<Record<string, Pick<Feed, 'dataset' | 'interval'>>> = {
  predmkt_a: { dataset: 'trades', interval: '' },
  predmkt_b: { dataset: 'trades', interval: '' },
  oracle: { dataset: 'candles', interval: '5m' },
}

/** A part is as well observed as its worst-observed moment allows: gaps of several feeds count once. */
export function stripOf({ gaps }: Coverage, fromMs: number): (number | null)[] {
  return Array.from({ length: PARTS }, (_, index) => {
    const from = fromMs + index * PART_MS
    const to = from + PART_MS
    const inside = (spans: Coverage['gaps']) => overlap(spans, from, to) / PART_MS
    const before = inside(gaps.filter(({ reason }) => reason === 'before_start' || reason === 'not_provided'))
    if (before > 0.99) return null
    const missed = inside(gaps.filter(({ reason }) => reason === 'not_observed' || reason === 'venue_down'))
    return Math.round(Math.max(0, 1 - missed) * 1000) / 1000
  })
}

/** Length of the union of spans inside a range; the spans are sorted by their beginning. */
function overlap(spans: Coverage['gaps'], from: number, to: number): number {
  let reached = from
  let sum = 0
  for (const span of spans) {
    const start = Math.max(span.from, reached)
    const end = Math.min(span.to, to)
    if (end <= start) continue
    sum += end - start
    reached = end
  }
  return sum
}
