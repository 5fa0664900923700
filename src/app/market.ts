import { feedFacts } from '../api/endpoints/market/feed-facts.ts'
import type { CursorCodec } from '../core/cursor.ts'
import { formatTime } from '../core/time.ts'
import { createGapHistory } from '../ingest/gap-history.ts'
import { createSourceCoverage, type DatasetCoverage } from '../ingest/source-coverage.ts'
import { startRetention } from '../store/retention.ts'
import { leadPart } from './lead.ts'
import type { EnvironmentParts } from './parts.ts'
import { prepareRecording } from './recording.ts'
import { symbolsService } from './symbols-service.ts'
import { tracedStore } from './traced-parts.ts'

/** The market half of one environment: its store, its recorders and its services. */
export async function startMarket(parts: EnvironmentParts, cursors: CursorCodec) {
  const { environment, clock, shutdown, probes, stores } = parts
  const opened = await stores.environment(environment)
  const store = parts.tracing === undefined ? opened : tracedStore(opened, parts.tracing)
  shutdown.add(`${environment} store`, () => store.close())
  probes.push({ name: `${environment} store`, isStore: true, check: () => store.probe() })
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
      symbols: symbolsService(store.series, clock),
    },
    /** Starts recording; to be called once the API is listening. */
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
