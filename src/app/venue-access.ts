/** Venues and backfills for commands. */
import { type BackfillRequest, type BackfillSummary, type MarketAccess, UsageError } from '../cli/command.ts'
import type { Config } from '../config/config.ts'
import type { Environment } from '../core/environment.ts'
import type { ManualBackfill } from '../ingest/shared/manual-backfill.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import { threadCalls } from '../kit/thread-calls.ts'
import type { Stores } from '../store/stores.ts'
import { VENUE_NAMES, type VenueName } from '../venues/list.ts'
import type { Venue } from '../venues/venue.ts'
import type { BackfillOrder } from './backfill-requests.ts'
import { backfillVenue, venueOfSource } from './backfill-venue.ts'
import { liveSetting } from './live-setting.ts'
import { openVenue, type VenueSetting } from './open-venue.ts'
import { SANDBOX_FILE, type SandboxReady, sandboxVenues, sandboxWorld } from './sandbox-venues.ts'
import { backfillShared } from './shared-backfill.ts'

const CHECK_WITHIN_MS = 20_000

export interface VenueAccess extends Pick<MarketAccess, 'backfill' | 'checkVenues'> {
  close(): Promise<void>
}

export function venueAccess(
  config: Config,
  deps: { clock: Clock; log: Logger; stores: Stores; store: MarketAccess['store'] },
): VenueAccess {
  const { clock, log, stores, store } = deps
  const closers: (() => Promise<unknown>)[] = []
  let simulated: Promise<VenueSetting[]> | undefined

  /** The simulated world is a function of its settings, so our own simulator sends the same data as the service's. */
  async function startSimulator(): Promise<VenueSetting[]> {
    const ready = await new Promise<SandboxReady>((resolve, reject) => {
      const thread = threadCalls<object>(SANDBOX_FILE, {
        name: 'simulated venues',
        data: sandboxWorld(config),
        onEvent: (message) => resolve(message as SandboxReady),
        keepsProcess: true,
      })
      thread.ended.then(reject)
      closers.push(() => thread.terminate())
    })
    return sandboxVenues(ready)
  }

  async function settingOf(environment: Environment, name: VenueName): Promise<VenueSetting | undefined> {
    if (environment === 'live') return liveSetting(name, config)
    simulated ??= startSimulator()
    return (await simulated).find((setting) => setting.name === name)
  }

  async function venueOf(environment: Environment, name: VenueName): Promise<Venue | undefined> {
    const setting = await settingOf(environment, name)
    return setting === undefined ? undefined : openVenue(setting, clock)
  }

  async function backfill({ environment, onProgress, ...order }: BackfillRequest): Promise<BackfillSummary> {
    const name = venueOfSource(order.source)
    if (name === undefined) throw new UsageError(`No venue records ${order.source}.`)
    const run = async (
      part: BackfillOrder,
      parts: Pick<ManualBackfill, 'onProgress' | 'signal' | 'store'>,
    ) => {
      const venue = await venueOf(environment, name)
      if (venue === undefined)
        throw new UsageError(
          `${order.source} has no stand-in in the sandbox; --environment live asks the real venue.`,
        )
      return backfillVenue(name, { ...part, ...parts, venue, clock, random: Math.random, log })
    }
    if (stores.isShared) return backfillShared({ stores, environment, order, clock, onProgress, run })
    return run(order, { onProgress, store: await store(environment) })
  }

  return {
    backfill,
    async checkVenues(environment) {
      const venues = await Promise.all(VENUE_NAMES.map((name) => venueOf(environment, name)))
      const signal = AbortSignal.timeout(CHECK_WITHIN_MS)
      return Promise.all(venues.flatMap((venue) => (venue === undefined ? [] : [venue.check({ signal })])))
    },
    async close() {
      for (const end of closers.toReversed()) await end()
    },
  }
}
