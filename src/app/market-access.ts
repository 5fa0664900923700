/** The market half as commands see it: stores, venues and backfills, opened when asked for. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { crc32 } from 'node:zlib'
import type { BackfillRequest, BackfillSummary, MarketAccess } from '../cli/command.ts'
import type { Config } from '../config.ts'
import type { Environment } from '../core/environment.ts'
import { backfillRange } from '../ingest/backfill-range.ts'
import { EXCHANGE_PLANS } from '../ingest/plans.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { EnvironmentStore } from '../store/environment.ts'
import { openSqliteEnvironment } from '../store/sqlite/environment.ts'
import { VENUES, type VenueName } from '../venues/list.ts'
import type { Venue } from '../venues/venue.ts'
import { EXCHANGES, SANDBOX_FILE, type SandboxReady } from './exchanges.ts'
import { openVenue } from './open-venue.ts'
import { liveSetting } from './predictions.ts'

const CHECK_WITHIN_MS = 20_000

export interface OpenMarketAccess extends MarketAccess {
  close(): Promise<void>
}

export function marketAccess(config: Config, deps: { clock: Clock; log: Logger }): OpenMarketAccess {
  const { clock, log } = deps
  const opened: (() => Promise<unknown>)[] = []
  const stores = new Map<Environment, Promise<EnvironmentStore>>()
  let sandbox: Promise<SandboxReady> | undefined

  function store(environment: Environment): Promise<EnvironmentStore> {
    const known = stores.get(environment)
    if (known !== undefined) return known
    mkdirSync(config.data, { recursive: true })
    const opening = openSqliteEnvironment({ file: join(config.data, `${environment}.db`), clock })
    stores.set(environment, opening)
    opened.push(async () => (await opening).close())
    return opening
  }

  /** The simulated world is a function of its seed: one of our own tells the same as the service's. */
  function startSandbox(): Promise<SandboxReady> {
    sandbox ??= new Promise((resolve, reject) => {
      const thread = new Worker(SANDBOX_FILE, { workerData: { seed: crc32(config.seed) } })
      thread.once('message', (message) => resolve(message as SandboxReady))
      thread.once('error', reject)
      opened.push(() => thread.terminate())
    })
    return sandbox
  }

  async function venueOf(environment: Environment, name: VenueName): Promise<Venue> {
    if (environment === 'live') return openVenue(liveSetting(name, config), clock)
    const ready = await startSandbox()
    const exchange = EXCHANGES.find((each) => each.name === name)
    if (exchange === undefined) throw new Error(`${name} has no stand-in in the sandbox`)
    const { restUrl, wsUrl } = ready[exchange.sandbox]
    return VENUES[name]({ clock, hosts: { rest: restUrl, stream: wsUrl } })
  }

  async function backfill(request: BackfillRequest): Promise<BackfillSummary> {
    const exchange = EXCHANGES.find(({ source }) => source === request.source)
    const plan = exchange === undefined ? undefined : EXCHANGE_PLANS[exchange.name]
    if (exchange === undefined || plan === undefined)
      throw new Error(`${request.source} has no history to ask for`)
    const venue = await venueOf(request.environment, exchange.name)
    return backfillRange({ ...request, plan, venue, store: await store(request.environment), clock, log })
  }

  return {
    store,
    backfill,
    async checkVenues(environment) {
      const names =
        environment === 'live' ? (Object.keys(VENUES) as VenueName[]) : EXCHANGES.map(({ name }) => name)
      return Promise.all(
        names.map(async (name) =>
          (await venueOf(environment, name)).check({ signal: AbortSignal.timeout(CHECK_WITHIN_MS) }),
        ),
      )
    },
    async close() {
      for (const end of opened.toReversed()) await end()
    },
  }
}
