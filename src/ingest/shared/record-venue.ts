/**
 * What every recorder does, whatever kind of venue it records: it opens its row writer, listens until the signal,
 * writes the last rows and reports its status. The kind adds its channels, its feeds and the recorders of its symbols.
 */
import { type AssetSymbol, SYMBOLS } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'
import { stopWith } from '../../kit/stop-with.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { Channel } from '../../venues/channel.ts'
import type { LiveOptions, Venue } from '../../venues/venue.ts'
import { type AuditCheck, type AuditOptions, createAudit, noAudits } from '../audit/audit.ts'
import { auditLimits } from '../audit/check-limits.ts'
import { auditSealedPages } from '../audit/sealed-pages.ts'
import type { TrackedFeed } from './feed-coverage.ts'
import { isRequested, REQUESTED_LATE_MS } from './feeds.ts'
import type { LiveRecorder } from './live-recorder.ts'
import { openRowWriter } from './open-row-writer.ts'
import type { Recorder, RecorderStatus } from './recorder.ts'
import { type LiveRun, runLive } from './run-live.ts'
import { type CoverageTracker, createCoverageTracker } from './track-coverage.ts'
import type { RowWriter } from './write-rows.ts'

/** The time until the sockets are open counts as not provided, unless data of that time arrives. */
export const CONNECTS_WITHIN_MS = 3_000

export interface RecorderOptions {
  readonly venue: Venue
  readonly store: EnvironmentStore
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly symbols?: readonly AssetSymbol[]
  readonly maxSilenceMs?: LiveOptions['maxSilenceMs']
  /** If left out, stored data is not audited. */
  readonly audit?: AuditOptions | undefined
}

/** One run of a recorder, from its start until the signal or a fault. */
export interface RecorderRun {
  readonly startMs: number
  readonly rows: RowWriter
  readonly tracker: CoverageTracker
  readonly signal: AbortSignal
}

interface RecordedKind {
  readonly channels: readonly Channel[]
  readonly feeds: readonly TrackedFeed[]
  /** Whether books are sampled. */
  readonly hasSnapshots: boolean
  /** Creates the recorders of the symbols, before anything is received. */
  open(run: RecorderRun): Promise<ReadonlyMap<AssetSymbol, LiveRecorder>>
  /** Work beside the live data, until the signal of the run; must not reject. */
  meanwhile?(run: RecorderRun): Promise<void>
  /** Self-checks that only this kind of venue has. */
  audits?(run: RecorderRun): readonly AuditCheck[]
  counts?(): RecorderStatus['counts']
  backfill?(): RecorderStatus['backfill']
}

/** The requested symbols that the venue has. */
export function recordedSymbols(options: { venue: Venue; symbols?: readonly AssetSymbol[] }): AssetSymbol[] {
  const { symbols = SYMBOLS, venue } = options
  return symbols.filter((symbol) => Object.hasOwn(venue.describe.symbols, symbol))
}

export function recordVenue(options: RecorderOptions, kind: RecordedKind): Recorder {
  const { venue, store, clock, random, log } = options
  const { name, source } = venue.describe
  const { channels, feeds, hasSnapshots } = kind
  const recorded = feeds.map((each) => ({ feed: each.feed, lagMs: lagOf(venue, each.channels) }))
  const audit = options.audit && createAudit({ source, clock, log, random })
  let writer: RowWriter | undefined
  let live: LiveRun | undefined
  let runs = 0
  /** Rows of earlier runs. */
  const before = { inserted: 0, corrected: 0, refused: 0 }

  async function run(stopped: AbortSignal): Promise<void> {
    const rows = openRowWriter({ venue, store, clock, random, log })
    writer = rows
    const tracker = createCoverageTracker({ feeds, coverage: store.coverage, writer: rows })
    const end = stopWith(stopped)
    const { signal } = end
    const current = { startMs: clock.now(), rows, tracker, signal }
    let listening: LiveRun | undefined
    let meanwhile: Promise<unknown> | undefined
    runs += 1
    try {
      const recorders = await kind.open(current)
      listening = runLive({
        ...{ venue, channels, hasSnapshots, recorders, tracker, clock, log, signal },
        writer: rows,
        ...(options.maxSilenceMs === undefined ? {} : { maxSilenceMs: options.maxSilenceMs }),
      })
      live = listening
      meanwhile = Promise.all([kind.meanwhile?.(current), examine(current)])
      await listening.done
    } finally {
      end.abort()
      await listening?.close()
      await meanwhile
      await rows.close().catch((error) => log.error({ err: error }, 'the last rows were not written'))
      const { inserted, corrected, refused } = rows.stats()
      before.inserted += inserted
      before.corrected += corrected
      before.refused += refused
      if (writer === rows) writer = undefined
      runs -= 1
    }
  }

  function running() {
    const { channels = 0, sockets = 0, routes = 0, watchLoops = 0 } = live?.status() ?? {}
    return { runs, channels, sockets, routes, watchLoops }
  }

  async function examine(run: RecorderRun): Promise<void> {
    if (audit === undefined || options.audit === undefined) return
    const { samples } = options.audit
    const { tracker, signal } = run
    const sealed = auditSealedPages({
      ...{ feeds: feeds.map(({ feed }) => feed), store, tracker, clock, random, samples },
    })
    const limits = auditLimits({ venue, running })
    await audit.run([sealed, limits, ...(kind.audits?.(run) ?? [])], signal)
    await sealed.close().catch((error) => log.warn({ venue: name, err: error }, 'samples were not saved'))
  }

  function status(): RecorderStatus {
    const listening = live?.status()
    const rows = writer?.stats()
    return {
      name,
      source,
      channels: listening?.channels ?? 0,
      channelsUp: listening?.up ?? 0,
      lastEventMs: listening?.lastEventMs ?? null,
      rowsInserted: before.inserted + (rows?.inserted ?? 0),
      waitingRows: (rows?.waiting ?? 0) + (listening?.queued ?? 0),
      storeFailure: rows?.failure ?? null,
      backfill: kind.backfill?.() ?? null,
      counts: {
        ...kind.counts?.(),
        corrected: before.corrected + (rows?.corrected ?? 0),
        refused: before.refused + (rows?.refused ?? 0),
      },
      audits: audit?.counts() ?? noAudits(),
      feeds: recorded,
    }
  }

  return { name, source, run, status }
}

/** How far the coverage of a feed may lag: polled or requested data is observed only up to the last answer. */
function lagOf({ describe }: Venue, channels: readonly string[]): number {
  const live: Readonly<Record<string, { readonly via: string; readonly everyMs?: number } | undefined>> =
    describe.live
  return Math.max(
    0,
    ...channels.map((key) => {
      if (isRequested(key)) return REQUESTED_LATE_MS
      const topic = live[key.slice(0, key.indexOf(':'))]
      return topic?.via === 'poll' ? (topic.everyMs ?? 0) : 0
    }),
  )
}
