/**
 * The index and the event log of one environment: its database, its thread, and what keeps it at the tip of the chain.
 */

import { DAY_MS, formatTime } from '../core/time.ts'
import { createEventTail, type EventTail } from '../events/publish.ts'
import { startFollowing } from '../indexer/follow.ts'
import type { RetentionSettings } from '../indexer/prune.ts'
import { type Indexing, type SupervisedIndexing, superviseIndexing } from '../indexer/supervise-indexing.ts'
import { watchFailures } from '../indexer/watch-failures.ts'
import { runEvery } from '../kit/clock.ts'
import { createWatchedAddresses, type WatchedAddresses } from '../relay/addresses.ts'
import type { ChainStore } from '../store/chain.ts'
import type { EventStore } from '../store/events.ts'
import type { Fence } from '../store/leases.ts'
import type { Upstreams } from '../upstreams/pool.ts'
import { storeAddress } from './data-folder.ts'
import { startIndexWorker } from './index-worker.ts'
import { leadPart } from './lead.ts'
import { indexMetrics } from './part-metrics.ts'
import { problemOf } from './part-reports.ts'
import type { EnvironmentParts } from './parts.ts'
import { NOTE_EVERY_MS, watchAbsence } from './watch-absence.ts'

/** As many addresses as the node accepts without slowing down its notifications. */
const MAX_WATCHED = 500_000
/** Longer than a transaction waits in a block to be accepted, and longer than a change of nodes takes. */
const DROP_AFTER_MS = 60_000
/** More events than the webhooks can have left unread in a log; stream clients may know the numbers of these events. */
const MAX_UNPLANNED = 1_000_000
const SHOWN_GAPS = 10
/** An unreachable node causes trouble several times a second. */
const WARN_EVERY_MS = 60_000

export async function startIndexedChain(parts: EnvironmentParts, upstreams: Upstreams, knownSeq: number) {
  const { environment, stores, clock, log, shutdown, probes } = parts
  const database = stores.chain(environment)
  shutdown.add(`${environment} chain store`, () => database.close())
  const { chain, events } = database
  probes.push({
    name: `${environment} chain store`,
    isStore: true,
    check: async () => void (await events.bounds()),
  })
  if (parts.does('index')) await neverReuseNumbers(parts, events, knownSeq)
  const tail = await createEventTail({
    store: events,
    clock,
    onError: (err) => log.error({ err, environment }, 'the event log could not be read'),
  })
  shutdown.add(`${environment} event tail`, () => tail.close())
  const reported = reportedIndexing(parts)
  if (isIndexed(parts)) probes.push({ name: `${environment} indexer`, check: async () => reported.check() })
  const watched = createWatchedAddresses({ network: upstreams.network, cap: MAX_WATCHED })
  if (upstreams.nodes().length > 0 && parts.does('index'))
    await startIndexing({ parts, upstreams, watched, tail })
  indexMetrics(parts.metrics, environment, { indexing: reported.state })
  return {
    chain,
    events: { store: events, tail },
    watched,
    indexing: async () => ({
      ...reported.state(),
      ...(await shownGaps(chain, clock.now())),
    }),
  }
}

async function shownGaps(chain: ChainStore, nowMs: number) {
  const [fromMs, gaps] = await Promise.all([chain.coverageFromMs(), chain.gaps()])
  return {
    coverage_from: fromMs === undefined ? null : formatTime(fromMs),
    gaps_24h: gaps.filter(({ atMs }) => atMs > nowMs - DAY_MS).length,
    gaps: gaps.slice(-SHOWN_GAPS).map(({ atMs, fromTimeMs, toTimeMs, reason }) => ({
      recorded_at: formatTime(atMs),
      from: formatTime(fromTimeMs),
      to: formatTime(toTimeMs),
      reason,
    })),
  }
}

interface IndexingParts {
  parts: EnvironmentParts
  upstreams: Upstreams
  watched: WatchedAddresses
  tail: EventTail
}

type IndexingState = Pick<SupervisedIndexing, 'state' | 'restarts'> | typeof NOT_INDEXING
const NOT_INDEXING = { state: 'off', restarts: 0 } as const

/** The thread that writes, and the loops that feed it, while this process leads. */
async function startIndexing(indexing: IndexingParts): Promise<void> {
  const { environment, leadership, reports, clock, log, shutdown } = indexing.parts
  const counts = indexCounters(indexing.parts)
  const leader = await leadPart(`index/${environment}`, leadership, async (fence) => {
    const kept = await superviseIndexing({
      start: () => startOnce(indexing, counts, fence),
      clock,
      random: Math.random,
      onEnd: (err) => {
        counts.troubles.inc({ environment, part: 'thread' })
        log.error({ err, environment }, 'the indexer has ended and is started again')
      },
    })
    const withdraw = reports.add(`index/${environment}`, () => ({
      report: { state: kept.state, restarts: kept.restarts },
      problem: problemOf(kept.probe),
    }))
    return {
      async close() {
        await kept.close()
        await withdraw()
      },
    }
  })
  shutdown.add(`${environment} indexer`, () => leader.close())
}

/** Whether the chain is indexed according to the settings, by this process or another one. */
function isIndexed({ environment, config }: EnvironmentParts): boolean {
  return environment === 'test' ? config.sandbox : config.nodes.length > 0
}

/** The state as reported by the process that indexes. */
function reportedIndexing(parts: EnvironmentParts) {
  const { environment, reports, clock, shutdown } = parts
  const name = `index/${environment}` as const
  const absence = watchAbsence<typeof name>(clock)
  const find = () => {
    const [found] = reports.find<IndexingState>((part) => part === name)
    if (found !== undefined) absence.note(name)
    return found
  }
  shutdown.add(`${environment} look at the indexer`, runEvery(clock, NOTE_EVERY_MS, find))
  return {
    state(): IndexingState {
      const found = find()
      const isMissing = found === undefined ? absence.isAbsent(name) : found.isSilent
      if (!isMissing) return found?.report ?? NOT_INDEXING
      // A process that was killed leaves its last report behind, also if the nodes are not configured any more.
      return isIndexed(parts) ? { restarts: found?.report.restarts ?? 0, state: 'restarting' } : NOT_INDEXING
    },
    check() {
      const found = find()
      if (found === undefined && absence.isAbsent(name)) throw new Error('no process indexes')
      if (found !== undefined && found.problem !== null) throw new Error(found.problem)
    },
  }
}

/** After a log was lost or restored, readers may know numbers above its own. */
async function neverReuseNumbers(
  { environment, log }: EnvironmentParts,
  events: EventStore,
  knownSeq: number,
): Promise<void> {
  const { newestSeq } = await events.bounds()
  if (newestSeq >= knownSeq) return
  log.error(
    { environment, newestSeq, knownSeq },
    'the event log was lost; its numbers go on above those given',
  )
  await events.numberAbove(knownSeq + MAX_UNPLANNED)
}

async function startOnce(
  { parts, upstreams, watched, tail }: IndexingParts,
  counts: IndexCounters,
  fence: Fence | undefined,
): Promise<Indexing> {
  const { environment, config, clock, log } = parts
  const worker = startIndexWorker({
    address: storeAddress(config),
    environment,
    fence,
    network: upstreams.network,
    dropAfterMs: DROP_AFTER_MS,
    onUnreadable: (detail) => log.error({ environment, detail }, 'a transaction could not be indexed'),
  })
  const { watch, probe } = watchFailures(clock)
  let warnedAtMs = Number.NEGATIVE_INFINITY
  const starting = startFollowing({
    upstreams,
    indexer: { ...worker.indexer, applyChain: (...asked) => watch(worker.indexer.applyChain(...asked)) },
    watched,
    clock,
    random: Math.random,
    keep: keepOf(parts),
    isIdle: () => tail.isIdle,
    onWritten: tail.announce,
    onApplied: ({ added, removed, checkpoint }) => {
      counts.blocks.inc({ environment, change: 'added' }, added)
      counts.blocks.inc({ environment, change: 'removed' }, removed)
      if (checkpoint) counts.score.set({ environment }, checkpoint.blueScore)
    },
    onGap: (gap) => log.warn({ environment, gap }, 'part of the chain could not be read and is missing'),
    onTrouble: (part, detail) => {
      counts.troubles.inc({ environment, part })
      if (clock.now() - warnedAtMs < WARN_EVERY_MS) return
      warnedAtMs = clock.now()
      log.warn({ environment, part, detail }, 'trouble in following the chain')
    },
  })
  const following = await starting.catch(async (error) => {
    await worker.close()
    throw error
  })
  return {
    ended: worker.ended,
    probe,
    async close() {
      await following.close()
      await worker.close()
    },
  }
}

function keepOf({ environment, config }: EnvironmentParts): RetentionSettings {
  return environment === 'live'
    ? { eventDays: config.eventDays, eventBytes: config.eventBytes, indexDays: config.indexDays }
    : { eventDays: config.testEventDays, eventBytes: config.testEventBytes, indexDays: config.testIndexDays }
}

type IndexCounters = ReturnType<typeof indexCounters>

function indexCounters({ metrics }: EnvironmentParts) {
  const environment = 'environment'
  return {
    blocks: metrics.counter('tapeline_index_chain_blocks_total', 'Chain blocks that joined and left.', [
      environment,
      'change',
    ]),
    troubles: metrics.counter('tapeline_index_troubles_total', 'Failed steps of following the chain.', [
      environment,
      'part',
    ]),
    score: metrics.gauge('tapeline_index_blue_score', 'Blue score up to which the chain is indexed.', [
      environment,
    ]),
  }
}
