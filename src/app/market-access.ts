/** Stores, venues and backfills for commands, opened on demand. */
import type { MarketAccess } from '../cli/command.ts'
import type { Config } from '../config/config.ts'
import type { Environment } from '../core/environment.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { ChainGap } from '../store/chain.ts'
import type { EnvironmentStore } from '../store/environment.ts'
import { openStores } from '../store/open-stores.ts'
import { prepareDataFolder, storeAddress } from './data-folder.ts'
import type { VenueAccess } from './venue-access.ts'

export interface OpenMarketAccess extends MarketAccess {
  close(): Promise<void>
}

export function marketAccess(config: Config, deps: { clock: Clock; log: Logger }): OpenMarketAccess {
  const saved = openStores(storeAddress(config), deps.clock)
  const stores = new Map<Environment, Promise<EnvironmentStore>>()
  let opening: Promise<VenueAccess> | undefined

  function store(environment: Environment): Promise<EnvironmentStore> {
    const known = stores.get(environment)
    if (known !== undefined) return known
    prepareDataFolder(config.data)
    const opened = saved.environment(environment)
    stores.set(environment, opened)
    return opened
  }

  /**
   * Loaded on demand, because venues are most of what a command could load, and most commands only read stored data.
   */
  function venues(): Promise<VenueAccess> {
    opening ??= import('./venue-access.ts').then(({ venueAccess }) =>
      venueAccess(config, { ...deps, stores: saved, store }),
    )
    return opening
  }

  async function chainGaps(environment: Environment): Promise<ChainGap[]> {
    if (!saved.hasChain(environment)) return []
    const database = saved.chain(environment)
    try {
      return await database.chain.gaps()
    } finally {
      await database.close()
    }
  }

  return {
    store,
    chainGaps,
    backfill: async (request) => (await venues()).backfill(request),
    checkVenues: async (environment) => (await venues()).checkVenues(environment),
    async close() {
      await (await opening)?.close()
      for (const opened of stores.values()) await (await opened).close()
    },
  }
}
