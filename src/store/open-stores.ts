/**
 * Opens stores by address. The only place that names an engine: everything else knows the ports. An address is a
 * plain value, so that a thread opens the same stores as the one that started it.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../core/environment.ts'
import type { Clock } from '../kit/clock.ts'
import type { AccountsStore } from './accounts.ts'
import type { BillingStore } from './billing.ts'
import type { EnvironmentStore } from './environment.ts'
import type { JobsStore } from './jobs.ts'
import { openSqliteAccounts } from './sqlite/accounts.ts'
import { type CacheUse, cacheBytesFor, DEFAULT_CACHE_MB } from './sqlite/cache-sizes.ts'
import { type ChainDatabase, openSqliteChain } from './sqlite/chain.ts'
import { openSqliteEnvironment } from './sqlite/environment.ts'
import { openSqliteJobs } from './sqlite/jobs.ts'
import type { UsersStore } from './users.ts'

export type { FolderLock } from './sqlite/folder-lock.ts'
export { describeHolder, FolderLockedError, lockFolder, readHolder } from './sqlite/folder-lock.ts'
export { watchFiles } from './sqlite/watch-files.ts'

export interface StoreAddress {
  readonly engine: keyof typeof CAPABILITIES
  /** Of `sqlite`: the folder of its files, or `:memory:`, which stores nothing: every call opens an empty one. */
  readonly folder: string
  /** Memory for the caches of all connections of the service together. */
  readonly cacheMb: number
}

interface StoreCapabilities {
  /** One process may work on the data at a time; commands work beside it. */
  readonly isLocal: boolean
  /** Reads are answered on the calling thread, without waiting. */
  readonly inlineReads: boolean
}

/** What engines can do. Code asks for a capability, never for the name of an engine. */
const CAPABILITIES = {
  sqlite: { isLocal: true, inlineReads: true },
} as const satisfies Record<string, StoreCapabilities>

const EMBEDDED = 'sqlite'

export interface Stores {
  readonly capabilities: StoreCapabilities
  /** `recorder`: opened by a thread that only records, which may encode rows for longer at a time. */
  environment(
    environment: Environment,
    options?: { use?: CacheUse; holdMs?: number },
  ): Promise<EnvironmentStore>
  hasChain(environment: Environment): boolean
  /** `inline`: writes are done on the calling thread. */
  chain(environment: Environment, options?: { inline?: boolean }): ChainDatabase
  jobs(environment: Environment): JobsStore
  accounts(): AccountsStore & UsersStore & BillingStore
  /** The files of these environments that exist, for whoever watches over them. */
  files(environments: readonly Environment[]): string[]
}

/** Reads `sqlite:./data`; a path alone is a folder of the embedded engine. */
export function parseStoreAddress(text: string, cacheMb = DEFAULT_CACHE_MB): StoreAddress {
  const [, engine = EMBEDDED, folder = text] = /^([a-z]{2,}):(?!memory:)(.+)$/s.exec(text) ?? []
  if (!Object.hasOwn(CAPABILITIES, engine)) {
    const known = Object.keys(CAPABILITIES).join(', ')
    throw new RangeError(`The store address ${text} names an unknown engine; known are ${known}.`)
  }
  return { engine: engine as StoreAddress['engine'], folder, cacheMb }
}

export function openStores(address: StoreAddress, clock: Clock): Stores {
  const { folder, cacheMb } = address
  const fileOf = (name: string) => (folder === ':memory:' ? folder : join(folder, `${name}.db`))
  const cacheBytes = (use: CacheUse) => cacheBytesFor(use, cacheMb)
  return {
    capabilities: CAPABILITIES[address.engine],
    environment: (environment, { use = 'api', holdMs } = {}) =>
      openSqliteEnvironment({
        file: fileOf(environment),
        clock,
        cacheBytes: { reader: cacheBytes(use), writer: cacheBytes('writer'), blocks: cacheBytes('blocks') },
        ...(holdMs === undefined ? {} : { holdMs }),
      }),
    hasChain: (environment) => existsSync(fileOf(`${environment}-chain`)),
    chain: (environment, options = {}) =>
      openSqliteChain({ file: fileOf(`${environment}-chain`), ...options }),
    jobs: (environment) => openSqliteJobs({ file: fileOf(`${environment}-webhooks`), clock }),
    accounts: () => openSqliteAccounts({ file: fileOf('accounts'), clock }),
    files: (environments) =>
      ['accounts', ...environments.flatMap((name) => [name, `${name}-chain`, `${name}-webhooks`])]
        .map(fileOf)
        .filter((file) => existsSync(file)),
  }
}
