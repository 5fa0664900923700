/**
 * The recorders of one environment as a thread of their own, so that recording never holds up the API. Takes
 * `RecordOptions` as `workerData`, posts its status every second, ends on the message `close`.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { EXCHANGE_PLANS } from '../ingest/plans.ts'
import { recordExchange } from '../ingest/record-exchange.ts'
import { type SourceStatus, supervise } from '../ingest/supervise.ts'
import { systemClock } from '../kit/clock.ts'
import { createLogger } from '../kit/log.ts'
import { openSqliteEnvironment } from '../store/sqlite/environment.ts'
import { VENUES, type VenueName } from '../venues/list.ts'
import type { VenueHosts } from '../venues/venue.ts'

export interface RecordOptions {
  readonly file: string
  readonly logLevel: string
  readonly venues: readonly { name: VenueName; hosts?: VenueHosts }[]
}

/** Without the lists of feeds, which nobody needs every second. */
export type RecordMessage = { readonly kind: 'status'; readonly sources: readonly SourceStatus[] }

const STATUS_EVERY_MS = 1_000
const READER_CACHE_BYTES = 8 * 1024 * 1024

const options = workerData as RecordOptions
const clock = systemClock
const log = createLogger({ level: options.logLevel })
const store = await openSqliteEnvironment({ file: options.file, clock, cacheBytes: READER_CACHE_BYTES })
const recorders = options.venues.flatMap(({ name, hosts }) => {
  const plan = EXCHANGE_PLANS[name]
  if (plan === undefined) return []
  const venue = VENUES[name]({ clock, ...(hosts === undefined ? {} : { hosts }) })
  return [recordExchange({ plan, venue, store, clock, log })]
})
const supervisor = supervise({ recorders, coverage: store.coverage, clock, log })
const tell = () => {
  const sources = supervisor
    .status()
    .map((status) => ({ ...status, detail: { ...status.detail, feeds: [] } }))
  parentPort?.postMessage({ kind: 'status', sources } satisfies RecordMessage)
}
const timer = setInterval(tell, STATUS_EVERY_MS)
tell()

parentPort?.on('message', (message) => {
  if (message !== 'close') return
  clearInterval(timer)
  supervisor
    .close()
    .then(() => store.close())
    .catch((error) => log.error({ err: error }, 'the recorders did not stop cleanly'))
    .finally(() => parentPort?.close())
})
