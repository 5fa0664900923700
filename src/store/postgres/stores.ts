import type { Clock } from '../../kit/clock.ts'
import type { RandomBytes } from '../../kit/random.ts'
import type { Stores } from '../stores.ts'
import { openPostgresAccounts } from './accounts.ts'
import type { PostgresAddress } from './address.ts'
import { openPostgresChain } from './chain.ts'
import { openPostgresCoordination } from './coordination.ts'
import { measureServer } from './disk-use.ts'
import { openPostgresEnvironment } from './environment.ts'
import { openPostgresJobs } from './jobs.ts'
import { openPostgresLeases } from './leases.ts'

export function openPostgresStores(
  address: PostgresAddress,
  deps: { clock: Clock; randomBytes?: RandomBytes },
): Stores {
  return {
    isShared: true,
    environment: (environment, options = {}) =>
      openPostgresEnvironment({ address, environment, clock: deps.clock, ...options }),
    hasChain: () => true,
    chain: (environment, { fence } = {}) =>
      openPostgresChain({ address, environment, clock: deps.clock, fence }),
    jobs: (environment) => openPostgresJobs({ address, environment, clock: deps.clock }),
    accounts: () => openPostgresAccounts({ address, clock: deps.clock }),
    leases: () => openPostgresLeases({ address, ...deps }),
    coordination: () => openPostgresCoordination({ address, clock: deps.clock }),
    diskUse: () => measureServer(address),
    files: () => [],
  }
}
