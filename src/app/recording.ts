/** Records an environment: its recorders, and in the test environment the simulated venues. */
import type { ServiceStatus } from '../api/endpoints/account/service-status.ts'
import { SOURCES, type Source } from '../core/source.ts'
import { formatTime } from '../core/time.ts'
import { sumAudits } from '../ingest/audit/audit.ts'
import { runEvery } from '../kit/clock.ts'
import { superviseThread } from '../kit/supervise-thread.ts'
import type { Fence } from '../store/leases.ts'
import { VENUE_NAMES, VENUES } from '../venues/list.ts'
import { recordPart, SANDBOX_PART } from './backfill-requests.ts'
import { ingestMetrics } from './ingest-metrics.ts'
import { type Leader, type LedPart, leadPart } from './lead.ts'
import { liveSetting } from './live-setting.ts'
import { recordingMetrics } from './part-metrics.ts'
import { problemOf } from './part-reports.ts'
import type { EnvironmentParts } from './parts.ts'
import { createRecorderThread, type RecorderThread } from './record-thread.ts'
import type { RecordMessage } from './record-worker.ts'
import { SANDBOX_FILE, type SandboxReady, sandboxVenues, sandboxWorld } from './sandbox-venues.ts'
import { showBackfill } from './show-backfill.ts'
import { NOTE_EVERY_MS, watchAbsence } from './watch-absence.ts'

/** The status of a source; its coverage is read from the store. */
type IngestionRow = Omit<ServiceStatus['ingestion'][number], 'coverage' | 'source'> & {
  source: Source
}

export interface Recording {
  /** Called once the API is listening, so that recording does not delay its start. */
  begin(): void
  ingestion(): IngestionRow[]
}

export function prepareRecording(parts: EnvironmentParts): Recording {
  const { environment, clock, log, shutdown, metrics } = parts
  const showPast = showBackfill({ environment, log, clock })
  const count = ingestMetrics(metrics, environment)
  const onReport = (message: RecordMessage) => {
    count(message)
    showPast(message)
  }
  const planned = recordedGroups(parts)
  const groups = (parts.does('record') ? planned : []).map((group) => ({
    ...group,
    recorders: createRecorderThread(parts, { name: group.name, onReport }),
  }))
  const leaders: Promise<Leader>[] = []
  shutdown.add(`${environment} recording`, async () => {
    // All at once, because a slow one would leave the others no time to write what they hold and to release their leases.
    await Promise.all(leaders.map(async (leader) => (await leader).close()))
  })
  const report = (part: string, recorders: RecorderThread) =>
    parts.reports.add(part, () => ({
      report: recorders.sources().map((source) => rowOf(source, clock.now())),
      problem: problemOf(recorders.check),
    }))
  // A recorder that was killed leaves its last report behind, also if its venues are not to be recorded any more.
  const reported = () =>
    parts.reports
      .find<IngestionRow[]>((part) => part.startsWith('record') && part.endsWith(`/${environment}`))
      .filter(({ part, isSilent }) => !isSilent || planned.some((group) => group.part === part))
  const absence = watchAbsence<Source>(clock)
  const noteRows = (rows: readonly IngestionRow[]) => {
    for (const { source } of rows) absence.note(source)
  }
  const noteReported = () => noteRows(reported().flatMap(({ report: rows }) => rows))
  shutdown.add(`${environment} look at recorders`, runEvery(clock, NOTE_EVERY_MS, noteReported))
  if (planned.length > 0)
    parts.probes.push({
      name: `${environment} recorders`,
      async check() {
        const found = reported()
        noteRows(found.flatMap(({ report: rows }) => rows))
        const problems = found.flatMap(({ problem }) => problem ?? [])
        const absent = planned
          .filter(({ part }) => !found.some((one) => one.part === part))
          .flatMap(({ sources }) => sources.filter(absence.isAbsent))
        if (absent.length > 0) problems.push(`no process records ${absent.join(', ')}`)
        if (problems.length > 0) throw new Error(problems.join('; '))
      },
    })
  const ingestion = () => {
    const rows = reported().flatMap(({ report: own, isSilent }) =>
      own.map((row) => (isSilent ? { ...row, status: 'down' as const } : row)),
    )
    noteRows(rows)
    const absent = planned
      .flatMap(({ sources }) => sources)
      .filter((source) => !rows.some((row) => row.source === source) && absence.isAbsent(source))
    return [...rows, ...absent.map(absentRow)].sort(
      (a, b) => SOURCES.indexOf(a.source) - SOURCES.indexOf(b.source),
    )
  }
  recordingMetrics(metrics, environment, {
    ingestion,
    recorded: () => groups.flatMap(({ recorders }) => recorders.sources()),
  })
  return {
    begin() {
      for (const { part, start, recorders } of groups)
        leaders.push(
          leadPart(part, parts.leadership, async (fence) => {
            const running = start(recorders, fence)
            const withdraw = report(part, recorders)
            return {
              async close() {
                await running.close()
                await withdraw()
              },
            }
          }),
        )
    },
    ingestion,
  }
}

/** Venues that are recorded in one thread and led by one process. */
interface RecordedGroup {
  readonly name: string
  /** The name of the part in the lease. */
  readonly part: string
  readonly sources: readonly Source[]
  start(recorders: RecorderThread, fence: Fence | undefined): LedPart
}

/** What is recorded according to the settings, by this process or another one. */
function recordedGroups(parts: EnvironmentParts): RecordedGroup[] {
  const { environment, config, leadership } = parts
  const name = `${environment} recorders`
  if (environment === 'test')
    return config.sandbox
      ? [
          {
            name,
            part: SANDBOX_PART,
            sources: sourcesOf(VENUE_NAMES.filter((venue) => VENUES[venue].sandbox !== null)),
            start: (recorders, fence) => startSandbox(parts, recorders, fence),
          },
        ]
      : []
  const venues = VENUE_NAMES.filter((venue) => config.live.includes(VENUES[venue].plan.source))
  const group = (part: string, names: typeof venues): RecordedGroup => ({
    name:
      names.length === 1 && leadership.leases !== undefined ? `${environment} recorder ${names[0]}` : name,
    part,
    sources: sourcesOf(names),
    start(recorders, fence) {
      recorders.start(
        names.map((venue) => liveSetting(venue, config)),
        fence,
      )
      return recorders
    },
  })
  if (venues.length === 0) return []
  // One thread is cheaper, but separate threads let processes divide the venues between them.
  return leadership.leases === undefined
    ? [group('record/live', venues)]
    : venues.map((venue) => group(recordPart(environment, VENUES[venue].plan.source), [venue]))
}

function sourcesOf(venues: typeof VENUE_NAMES): Source[] {
  return venues.map((venue) => VENUES[venue].plan.source)
}

/** The simulated world takes some 40 MB; a small young generation keeps the rest of the heap from growing. */
const SANDBOX_HEAP_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 }

/** The simulator reports its addresses once it is up, and new ones after a restart. */
function startSandbox(
  { config, clock, log }: EnvironmentParts,
  recorders: RecorderThread,
  fence: Fence | undefined,
): LedPart {
  let isClosed = false
  const simulator = superviseThread({
    ...{ name: 'simulated venues', file: SANDBOX_FILE, data: sandboxWorld(config), clock, log },
    limits: SANDBOX_HEAP_LIMITS,
    onMessage(message) {
      // The simulator is closed after the recorders, and may come up in between.
      if (isClosed) return
      const ready = message as SandboxReady
      const { exchanges, predictions } = ready
      log.info({ control: exchanges.controlUrl }, 'simulated exchanges are up')
      log.info({ control: predictions.controlUrl }, 'simulated prediction markets are up')
      recorders.start(sandboxVenues(ready), fence)
    },
  })
  return {
    async close() {
      isClosed = true
      await recorders.close()
      await simulator.close()
    },
  }
}

function absentRow(source: Source): IngestionRow {
  return {
    source,
    status: 'down',
    last_event_at: null,
    lag_seconds: null,
    rows_inserted: 0,
    gaps_24h: 0,
    backfill: null,
    audit: { checked: 0, differences: 0 },
    notice: 'Nothing records this source at the moment.',
  }
}

function rowOf(
  {
    source,
    state,
    lastEventMs,
    rowsInserted,
    gaps24h,
    backfill,
    notice,
    detail,
  }: RecordMessage['sources'][number],
  nowMs: number,
): IngestionRow {
  return {
    source,
    status: state,
    last_event_at: lastEventMs === null ? null : formatTime(lastEventMs),
    lag_seconds: lastEventMs === null ? null : Math.max(0, Math.round((nowMs - lastEventMs) / 100) / 10),
    rows_inserted: rowsInserted,
    gaps_24h: gaps24h,
    backfill,
    audit: sumAudits(detail.audits),
    notice,
  }
}
