import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../kit/clock.ts'
import type { RandomBytes } from '../../kit/random.ts'
import { threadCalls } from '../../kit/thread-calls.ts'
import type { Stores } from '../stores.ts'
import { openSqliteAccounts } from './accounts.ts'
import { openSqliteChain } from './chain.ts'
import { openSqliteCoordination } from './coordination.ts'
import type { DiskUseCalls } from './disk-use-thread.ts'
import { openSqliteEnvironment } from './environment.ts'
import { openSqliteJobs } from './jobs.ts'
import { openSqliteLeases } from './leases.ts'
import { assertRestored } from './unfinished-restore.ts'

const MEASURING = new URL('./disk-use-thread.ts', import.meta.url)

export interface SqliteAddress {
  readonly engine: 'sqlite'
  /** The folder of its files, or `:memory:`, which stores nothing: every call opens an empty one. */
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

/** One file each for accounts, and for rows, chain and webhooks of an environment. */
export function openSqliteStores(
  { folder, engine: _, ...settings }: SqliteAddress,
  deps: { clock: Clock; randomBytes?: RandomBytes },
): Stores {
  assertRestored(folder)
  const fileOf = (name: string) => (folder === ':memory:' ? folder : join(folder, `${name}.db`))
  const options = (name: string) => ({ file: fileOf(name), ...settings, ...deps })
  return {
    isShared: false,
    // The lock of the data folder is the fence: no other process writes.
    environment: (environment, { fence: _unused, ...more } = {}) =>
      openSqliteEnvironment({ ...options(environment), ...more }),
    hasChain: (environment) => existsSync(fileOf(`${environment}-chain`)),
    chain: (environment, { inline } = {}) =>
      openSqliteChain({ ...options(`${environment}-chain`), ...(inline === undefined ? {} : { inline }) }),
    jobs: (environment) => openSqliteJobs(options(`${environment}-webhooks`)),
    accounts: () => openSqliteAccounts(options('accounts')),
    leases: () => openSqliteLeases(options('accounts')),
    coordination: () => openSqliteCoordination(options('accounts')),
    async diskUse() {
      if (folder === ':memory:') return { parts: [], reusableBytes: 0 }
      const thread = threadCalls<DiskUseCalls>(MEASURING, { name: 'disk use', data: { folder } })
      try {
        return await thread.call('measure', [])
      } finally {
        await thread.close()
      }
    },
    files: (environments) =>
      ['accounts', ...environments.flatMap((name) => [name, `${name}-chain`, `${name}-webhooks`])]
        .map(fileOf)
        .filter((file) => existsSync(file)),
  }
}
