import { feedFacts } from '../api/endpoints/market/feed-facts.ts'
import type { Services } from '../api/endpoints/services.ts'
import { symbolsCatalog } from '../api/publish/catalog.ts'
import type { CursorCodec } from '../core/cursor.ts'
import { SYMBOLS } from '../core/symbol.ts'
import { formatTime } from '../core/time.ts'
import { createGapHistory } from '../ingest/gap-history.ts'
import { createSourceCoverage, type DatasetCoverage } from '../ingest/source-coverage.ts'
import type { Clock } from '../kit/clock.ts'
import type { EnvironmentStore } from '../store/environment.ts'
import { startRetention } from '../store/retention.ts'
import { leadPart } from './lead.ts'
import type { EnvironmentParts } from './parts.ts'
import { prepareRecording } from './recording.ts'
import { tracedStore } from './traced-parts.ts'

const SYMBOLS_FRESH_MS = 2_000

/** The market half of one environment: its store, its recorders and its services. */
export async function startMarket(parts: EnvironmentParts, cursors: CursorCodec) {
  const { environment, clock, shutdown, probes, stores } = parts
  const opened = await stores.environment(environment)
  const store = parts.tracing === undefined ? opened : tracedStore(opened, parts.tracing)
  shutdown.add(`${environment} store`, () => store.close())
  probes.push({
    name: `${environment} store`,
    isStore: true,
    check: async () => void (await store.series.earliest({})),
  })
  if (parts.does('upkeep')) {
    const { config } = parts
    const rules = environment === 'test' ? config.testRetention : config.retention
    const upkeep = await leadPart(`upkeep/${environment}`, parts.leadership, async (fence) => ({
      close: startRetention(
        () => stores.environment(environment, { use: 'recorder', ...(fence === undefined ? {} : { fence }) }),
        { ...parts, rules },
      ),
    }))
    shutdown.add(`${environment} retention`, () => upkeep.close())
  }
  const recording = prepareRecording(parts)
  const coverage = createSourceCoverage({ coverage: store.coverage, clock })
  return {
    services: {
      market: { store, cursors, facts: feedFacts(store, clock) },
      symbols: symbolsService(store, clock),
    },
    /** Starts recording; called when the API listens. */
    record: recording.begin,
    ingestion: () =>
      Promise.all(
        recording
          .ingestion()
          .map(async (row) => ({ ...row, coverage: (await coverage(row.source)).map(shown) })),
      ),
    coverage,
    gapHistory: createGapHistory({ coverage: store.coverage, clock }),
  }
}

function shown({ dataset, interval, fromMs, toMs }: DatasetCoverage) {
  const time = (atMs: number | null) => (atMs === null ? null : formatTime(atMs))
  return { dataset, interval, from: time(fromMs), to: time(toMs) }
}

/** The list is the same object until an earliest data point changes. */
function symbolsService(store: EnvironmentStore, clock: Clock): Services['symbols'] {
  let body = symbolsCatalog(() => null)
  let askedAtMs = Number.NEGATIVE_INFINITY
  const refresh = async () => {
    const earliest = new Map<string, number | undefined>()
    for (const symbol of SYMBOLS) earliest.set(symbol, await store.series.earliest({ symbol }))
    const fresh = symbolsCatalog((symbol) => {
      const time = earliest.get(symbol)
      return time === undefined ? null : formatTime(time)
    })
    if (JSON.stringify(fresh) !== JSON.stringify(body)) body = fresh
    return body
  }
  return () => {
    if (clock.now() - askedAtMs < SYMBOLS_FRESH_MS) return body
    askedAtMs = clock.now()
    return refresh()
  }
}
