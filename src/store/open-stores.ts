/**
 * Opens stores by address. The only place that names an engine: everything else knows the ports. An address is a
 * plain value, so that a thread opens the same stores as the one that started it.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../core/environment.ts'
import type { Clock } from '../kit/clock.ts'
import type { RandomBytes } from '../kit/random.ts'
import type { AccountsStore } from './accounts.ts'
import type { BillingStore } from './billing.ts'
import type { ChainStores } from './chain.ts'
import type { EnvironmentStore } from './environment.ts'
import type { JobsStore } from './jobs.ts'
import { openSqliteAccounts } from './sqlite/accounts.ts'
import { DEFAULT_CACHE_MB } from './sqlite/cache-sizes.ts'
import { openSqliteChain } from './sqlite/chain.ts'
import { openSqliteEnvironment } from './sqlite/environment.ts'
import { openSqliteJobs } from './sqlite/jobs.ts'
import type { UsersStore } from './users.ts'

export type { FolderLock } from './sqlite/folder-lock.ts'
export { describeHolder, FolderLockedError, lockFolder, readHolder } from './sqlite/folder-lock.ts'
export { watchFiles } from './sqlite/watch-files.ts'

export interface StoreAddress {
  readonly engine: (typeof ENGINES)[number]
  /** Of `sqlite`: the folder of its files, or `:memory:`, which stores nothing: every call opens an empty one. */
  readonly folder: string
  /** Memory for the caches of stored data (TAPELINE_CACHE_MB); every connection takes its share of it. */
  readonly cacheMb: number
  /**
   * Where writes are done: in a thread per file, which is the default, or `inline` on the calling thread and done when
   * the call returns, for a simulation, which has one thread.
   */
  readonly writes?: 'thread' | 'inline'
  /** `off`: what is written need not survive the machine, only the process. */
  readonly sync?: 'normal' | 'off'
}

export interface StorePorts {
  /** In place of the engine's own chance, for the names that it gives. */
  readonly randomBytes?: RandomBytes
}

const ENGINES = ['sqlite'] as const
const EMBEDDED = 'sqlite'

interface EnvironmentOptions {
  /** Who reads, which decides about the memory for caches: a recorder reads little, and the newest. Default `api`. */
  use?: 'api' | 'recorder'
  /**
   * How long the engine may work on the calling thread before that does something else. A thread that only records may
   * allow more than the API does.
   */
  holdMs?: number
}

export interface Stores {
  environment(environment: Environment, options?: EnvironmentOptions): Promise<EnvironmentStore>
  hasChain(environment: Environment): boolean
  /** `inline`: writes are done on the calling thread. */
  chain(environment: Environment, options?: { inline?: boolean }): ChainStores
  jobs(environment: Environment): JobsStore
  accounts(): AccountsStore & UsersStore & BillingStore
  /** The existing files of these environments, for the check that they are not replaced. */
  files(environments: readonly Environment[]): string[]
}

/** Reads `sqlite:./data`; a path alone is a folder of the embedded engine. */
export function parseStoreAddress(text: string, cacheMb = DEFAULT_CACHE_MB): StoreAddress {
  const [, engine = EMBEDDED, folder = text] = /^([a-z]{2,}):(?!memory:)(.+)$/s.exec(text) ?? []
  const known = ENGINES.find((name) => name === engine)
  if (known === undefined) {
    throw new RangeError(
      `The store address ${text} names an unknown engine; known are ${ENGINES.join(', ')}.`,
    )
  }
  return { engine: known, folder, cacheMb }
}

export function openStores(address: StoreAddress, clock: Clock, ports: StorePorts = {}): Stores {
  const { folder, engine: _, ...settings } = address
  const fileOf = (name: string) => (folder === ':memory:' ? folder : join(folder, `${name}.db`))
  const options = (name: string) => ({ file: fileOf(name), clock, ...settings, ...ports })
  return {
    environment: (environment, more = {}) => openSqliteEnvironment({ ...options(environment), ...more }),
    hasChain: (environment) => existsSync(fileOf(`${environment}-chain`)),
    chain: (environment, more = {}) => openSqliteChain({ ...options(`${environment}-chain`), ...more }),
    jobs: (environment) => openSqliteJobs(options(`${environment}-webhooks`)),
    accounts: () => openSqliteAccounts(options('accounts')),
    files: (environments) =>
      ['accounts', ...environments.flatMap((name) => [name, `${name}-chain`, `${name}-webhooks`])]
        .map(fileOf)
        .filter((file) => existsSync(file)),
  }
}
