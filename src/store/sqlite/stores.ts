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
import { assertAccountsKept } from './emptied.ts'
import { openSqliteEnvironment } from './environment.ts'
import { openSqliteJobs } from './jobs.ts'
import { openSqliteLeases } from './leases.ts'
import { assertRestored } from './unfinished-restore.ts'

const MEASURING = new URL('./disk-use-thread.ts', import.meta.url)

export interface SqliteAddress {
  readonly engine: 'sqlite'
  /** The folder of its files, or `:memory:`, which is not persistent: every call opens an empty database. */
  readonly folder: string
  /** Memory for the caches of stored data (TAPELINE_CACHE_MB); every connection takes its share of it. */
  readonly cacheMb: number
  /**
   * Where writes run: in a thread per file (the default), or `inline` on the calling thread and finished when the call
   * returns. A simulation needs the latter because it has only one thread.
   */
  readonly writes?: 'thread' | 'inline'
  /** `off`: writes survive the death of the process, but not a crash of the machine. */
  readonly sync?: 'normal' | 'off'
}

/** One file for the accounts, and one each for the rows, chain and webhooks of an environment. */
export function openSqliteStores(
  { folder, engine: _, ...settings }: SqliteAddress,
  deps: { clock: Clock; randomBytes?: RandomBytes },
): Stores {
  assertRestored(folder)
  const fileOf = (name: string) => (folder === ':memory:' ? folder : join(folder, `${name}.db`))
  const options = (name: string) => ({ file: fileOf(name), ...settings, ...deps })
  const accountsOptions = () => {
    assertAccountsKept(folder)
    return options('accounts')
  }
  return {
    isShared: false,
    // The lock of the data folder is the fence, because no other process can write.
    environment: (environment, { fence: _unused, ...more } = {}) =>
      openSqliteEnvironment({ ...options(environment), ...more }),
    hasChain: (environment) => existsSync(fileOf(`${environment}-chain`)),
    chain: (environment, { inline } = {}) =>
      openSqliteChain({ ...options(`${environment}-chain`), ...(inline === undefined ? {} : { inline }) }),
    jobs: (environment) => openSqliteJobs(options(`${environment}-webhooks`)),
    accounts: () => openSqliteAccounts(accountsOptions()),
    leases: () => openSqliteLeases(accountsOptions()),
    coordination: () => openSqliteCoordination(accountsOptions()),
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
