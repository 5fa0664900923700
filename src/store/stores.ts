/** What every engine provides: the stores of one address. */
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
  /**
   * Who reads, which decides how much memory the caches get: a recorder reads little, and only new rows. Default `api`.
   */
  use?: 'api' | 'recorder'
  /**
   * How long the engine may work on the calling thread before it yields. A thread that only records may allow more than
   * the API does.
   */
  holdMs?: number
  /** The lease of the writing part. Writes are refused with LeaseLostError once another process has taken it. */
  fence?: Fence
}

interface ChainOptions {
  /** Writes on the calling thread, for engines that otherwise use writer threads. */
  inline?: boolean
  fence?: Fence
}

export interface Stores {
  /**
   * Whether several processes may work on the data. If so, leases decide who leads each part, and processes see each
   * other's work through the store. Otherwise one service locks the data folder and leads everything.
   */
  readonly isShared: boolean
  environment(environment: Environment, options?: EnvironmentOptions): Promise<EnvironmentStore>
  /** Whether an index exists; a command must not create one. */
  hasChain(environment: Environment): boolean
  chain(environment: Environment, options?: ChainOptions): ChainStores
  jobs(environment: Environment): JobsStore
  accounts(): AccountsStore & UsersStore & BillingStore & NoticesStore & UptimeStore
  leases(): LeaseStore
  coordination(): CoordinationStore
  /** The disk use of both environments. */
  diskUse(): Promise<DiskUse>
  /** The existing files of these environments, to be watched for replacement. */
  files(environments: readonly Environment[]): string[]
}
