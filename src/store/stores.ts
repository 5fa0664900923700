/** What every engine gives: the stores of one address. */
import type { Environment } from '../core/environment.ts'
import type { AccountsStore } from './accounts.ts'
import type { BillingStore } from './billing.ts'
import type { ChainStores } from './chain.ts'
import type { CoordinationStore } from './coordination.ts'
import type { DiskUse } from './disk-use.ts'
import type { EnvironmentStore } from './environment.ts'
import type { JobsStore } from './jobs.ts'
import type { Fence, LeaseStore } from './leases.ts'
import type { NoticesStore } from './notices.ts'
import type { UptimeStore } from './uptime.ts'
import type { UsersStore } from './users.ts'

export interface EnvironmentOptions {
  /** Who reads, which decides about the memory for caches: a recorder reads little, and the newest. Default `api`. */
  use?: 'api' | 'recorder'
  /**
   * How long the engine may work on the calling thread before that does something else. A thread that only records may
   * allow more than the API does.
   */
  holdMs?: number
  /** The lease of the part that writes: when another process has taken it, writes are refused (LeaseLostError). */
  fence?: Fence
}

interface ChainOptions {
  /** Writes are done on the calling thread, where the engine has threads for them. */
  inline?: boolean
  fence?: Fence
}

export interface Stores {
  /**
   * Several processes may work on the data: parts are led through leases, and what one process did is seen by the
   * others through the store. Otherwise the data folder is locked by one service, which leads everything.
   */
  readonly isShared: boolean
  environment(environment: Environment, options?: EnvironmentOptions): Promise<EnvironmentStore>
  /** Whether there is an index to read: a command must not create one. */
  hasChain(environment: Environment): boolean
  chain(environment: Environment, options?: ChainOptions): ChainStores
  jobs(environment: Environment): JobsStore
  accounts(): AccountsStore & UsersStore & BillingStore & NoticesStore & UptimeStore
  leases(): LeaseStore
  coordination(): CoordinationStore
  /** What both environments take on the disk of the store. */
  diskUse(): Promise<DiskUse>
  /** The existing files of these environments, for the check that they are not replaced. */
  files(environments: readonly Environment[]): string[]
}
