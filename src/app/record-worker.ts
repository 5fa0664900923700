/**
 * The recorders of one environment in their own thread, so that recording never delays the API. Takes `RecordOptions`
 * as `workerData`, posts its status every second, and ends on the message `close`.
 */
import { uptime } from 'node:os'
import { join } from 'node:path'
import { workerData } from 'node:worker_threads'
import type { Environment } from '../core/environment.ts'
import type { RetentionRule } from '../core/retention.ts'
import { sampleFile } from '../ingest/audit/sample-file.ts'
import { createBackfillPace, whileThereIsRoom } from '../ingest/shared/backfill-pace.ts'
import { openDeadLetterFile } from '../ingest/shared/dead-letter-file.ts'
import { keepTime } from '../ingest/shared/keep-time.ts'
import { letterFilesOnDisk } from '../ingest/shared/letter-files.ts'
import { createVenueNotices } from '../ingest/shared/venue-notices.ts'
import { type SourceStatus, supervise } from '../ingest/supervise.ts'
import { systemClock } from '../kit/clock.ts'
import { watchDiskRoom } from '../kit/disk-room.ts'
import { createLogger } from '../kit/log.ts'
import type { LogFormat } from '../kit/log-text.ts'
import { lowerPriority, RECORDER_NICE } from '../kit/lower-priority.ts'
import { releaseMemory } from '../kit/release-memory.ts'
import { serveCalls } from '../kit/thread-calls.ts'
import type { Fence } from '../store/leases.ts'
import { openStores, type StoreAddress } from '../store/open-stores.ts'
import { VENUES } from '../venues/list.ts'
import { fetchOverHttp } from '../venues/rest/fetch-over-http.ts'
import { createVenueClock } from '../venues/venue-clock.ts'
import { answerBackfills } from './backfill-requests.ts'
import { backfillVenue, venueOfSource } from './backfill-venue.ts'
import { openVenue, recorderOf, type VenueSetting } from './open-venue.ts'

export interface RecordOptions {
  readonly address: StoreAddress
  /** For dead letters and samples of the self-check. */
  readonly dataFolder: string
  readonly environment: Environment
  /** The lease of these recorders; undefined if only one process works on the store. */
  readonly fence: Fence | undefined
  readonly logLevel: string
  readonly logFormat: LogFormat
  readonly venues: readonly VenueSetting[]
  readonly firstFillDays: number
  /** Data that would be deleted again is not requested. */
  readonly retention: readonly RetentionRule[]
  readonly minFreeBytes: number | null
}

export interface RecordMessage {
  readonly kind: 'status'
  /** Without the lists of feeds, which are needed less often. */
  readonly sources: readonly (SourceStatus & { readonly notice: string | null })[]
  readonly deadLetters: readonly { venue: string; reason: string; count: number }[]
}

const STATUS_EVERY_MS = 1_000
/** Longer than in the API, because callers do not wait for this thread. */
const HOLD_MS = 25

const options = workerData as RecordOptions
lowerPriority(RECORDER_NICE)
const clock = systemClock
const log = createLogger({ level: options.logLevel, format: options.logFormat })
const stores = openStores(options.address, clock)
const store = await stores.environment(options.environment, {
  use: 'recorder',
  holdMs: HOLD_MS,
  ...(options.fence === undefined ? {} : { fence: options.fence }),
})
const prefix = join(options.dataFolder, 'dead-letters', `${options.environment}-`)
const room = await watchDiskRoom({ folder: options.dataFolder, minFreeBytes: options.minFreeBytes, clock })
const letters = openDeadLetterFile({
  prefix,
  // Letters are counted even if they are not written.
  files: { append: async (...letter) => (room.isLow() ? undefined : letterFilesOnDisk.append(...letter)) },
  clock,
  log,
})
const notices = createVenueNotices(log)
const pace = createBackfillPace(clock)
// If the store is on another server, its disk is not this one.
const patient = whileThereIsRoom(pace, clock, () => !stores.isShared && room.isLow())
const venues = options.venues.map((setting) => {
  const time = createVenueClock({ clock, uptime: () => uptime() * 1_000 })
  const fetch = time.through(fetchOverHttp)
  return { setting, time, venue: openVenue(setting, time, { fetch, onDeadLetter: letters.add }) }
})
const recorders = venues.map(({ setting, time, venue }) => {
  notices.add(venue)
  const samples = sampleFile(join(options.dataFolder, 'audit', `${options.environment}-${setting.name}.json`))
  // Prediction markets also restore their state at this pace, which must not wait for disk space.
  const own = VENUES[setting.name].plan.kind === 'exchange' ? patient : pace
  const parts = { venue, store, clock: time, random: Math.random, log, pace: own, audit: { samples } }
  return keepTime(recorderOf(setting.name, parts, options), { time, venue, random: Math.random, log })
})
const supervisor = supervise({ recorders, coverage: store.coverage, clock, random: Math.random, log })
const backfills = options.fence === undefined ? undefined : answerCommands(options.fence)
const thread = serveCalls(
  {},
  {
    async close() {
      clearInterval(timer)
      room.close()
      try {
        await backfills?.close()
        await supervisor.close()
        await store.close()
        await letters.close()
      } catch (error) {
        log.error({ err: error }, 'the recorders did not stop cleanly')
      }
    },
  },
)
/** Backfills for the venues of this thread, which other processes must not write at the same time. */
function answerCommands({ part }: Fence) {
  const coordination = stores.coordination()
  const answering = answerBackfills({
    ...{ store: coordination, part, clock, log },
    async run(order, progress) {
      const found = venues.find(({ setting }) => setting.name === venueOfSource(order.source))
      if (found === undefined) throw new Error(`${order.source} is not recorded.`)
      const { setting, time, venue } = found
      return backfillVenue(setting.name, {
        ...order,
        ...progress,
        venue,
        store,
        clock: time,
        random: Math.random,
        log,
      })
    },
  })
  return {
    async close() {
      await answering.close()
      await coordination.close()
    },
  }
}

let isFilled = false
const report = () => {
  const states = supervisor.status()
  if (!isFilled && states.every(({ backfill }) => backfill === null || backfill === 1)) {
    isFilled = true
    releaseMemory()
  }
  const sources = states.map((status) => ({
    ...status,
    detail: { ...status.detail, feeds: [] },
    notice: notices.of(status.source),
  }))
  thread.post({ kind: 'status', sources, deadLetters: letters.counts() } satisfies RecordMessage)
}
const timer = setInterval(report, STATUS_EVERY_MS)
report()
