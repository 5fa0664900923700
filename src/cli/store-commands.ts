/** Commands on a whole store. They open the given store, but not the accounts in it. */
import type {
  CopyDifference,
  CopyProgress,
  Distributed,
  DistributeOptions,
  Finding,
  Upgrade,
  UpgradePlan,
} from '../store/maintain.ts'
import { CommandError, type CommandForm, needed, UsageError } from './command.ts'
import { copyProgress } from './copy-progress.ts'
import type { Output } from './output.ts'
import { progressBar } from './progress-bar.ts'

/** A store by its address, as in TAPELINE_STORE; undefined means the configured one. */
export interface StoreAccess {
  check(store: string | undefined): Promise<Finding[]>
  migrate(store: string | undefined): Promise<Upgrade[]>
  planUpgrade(store: string | undefined): Promise<UpgradePlan[]>
  distribute(store: string | undefined, options: DistributeOptions): Promise<Distributed[]>
  copy(request: CopyRequest): Promise<CopySummary>
}

interface CopyRequest {
  readonly from: string
  readonly to: string
  readonly onProgress: (progress: CopyProgress) => void
}

interface CopySummary {
  readonly from: string
  readonly to: string
  readonly tables: number
  readonly rows: number
  readonly parts: number
  readonly differences: readonly CopyDifference[]
}

interface StoreContext {
  readonly values: Readonly<Record<string, string | undefined>>
  readonly output: Output
  readonly stores: StoreAccess
}

const MAX_SHARDS = 1_024

const store = {
  about: 'postgres://user@host/database or a data folder; left out: the configured one.',
}

interface StoreCommand extends CommandForm {
  run(context: StoreContext): Promise<void>
}

export const STORE_COMMANDS: readonly StoreCommand[] = [
  {
    name: 'store check',
    about: 'Checks a store: versions, partitions, replication, settings, damage. Changes nothing.',
    options: { store },
    async run({ values, output, stores }) {
      const findings = await stores.check(values.store)
      output.print(findings, ['state', 'about', 'finding'])
      const problems = findings.filter(({ state }) => state === 'problem').length
      if (problems > 0) throw new CommandError(`${problems} ${problems === 1 ? 'problem' : 'problems'}.`)
    },
  },
  {
    name: 'store migrate',
    about: 'Creates the tables of a store or brings them to the version of this release.',
    options: { store },
    run: migrate,
  },
  {
    name: 'upgrade',
    about:
      'Brings the tables to the version of this release; --check says what that will do and how long it takes.',
    options: {
      store,
      check: { about: 'Changes nothing; the service may run.', isFlag: true },
    },
    run: (context) => (context.values.check === undefined ? migrate(context) : checkUpgrade(context)),
  },
  {
    name: 'store distribute',
    about:
      'Spreads the big tables of a PostgreSQL store over the servers of Citus; may be stopped and run again.',
    options: {
      store: { about: 'postgres://user@host/database of the coordinator; left out: the configured one.' },
      shards: {
        about: 'Pieces of each table, and of each of its months; at most so many servers share it.',
        fallback: '32',
      },
    },
    async run({ values, output, stores }) {
      const shards = Number(values.shards)
      if (!Number.isInteger(shards) || shards < 1 || shards > MAX_SHARDS)
        throw new UsageError(`--shards must be a whole number from 1 to ${MAX_SHARDS}.`)
      const bar = progressBar()
      const tables = await stores.distribute(values.store, {
        shards,
        onProgress: ({ done, total, step }) => bar.show(done, total, step),
      })
      bar.end()
      output.print(
        tables.map(({ table, by, shards: pieces, before }) => ({
          table,
          by,
          shards: pieces,
          done: before ? 'nothing to do' : 'distributed',
        })),
        ['table', 'by', 'shards', 'done'],
      )
    },
  },
  {
    name: 'store copy',
    about: 'Copies a data folder into PostgreSQL, or back, and compares both; may be stopped and run again.',
    options: {
      from: { about: 'A data folder (sqlite:./data) or postgres://user@host/database.', required: true },
      to: { about: 'The other one of the two, empty or with the same copy unfinished.', required: true },
    },
    async run({ values, output, stores }) {
      const progress = copyProgress()
      const [from, to] = [needed(values, 'from'), needed(values, 'to')]
      const { differences, ...summary } = await stores
        .copy({ from, to, onProgress: progress.show })
        .finally(progress.end)
      if (differences.length === 0) {
        output.print({ ...summary, result: 'the same in both' })
        return
      }
      output.print(differences, ['table', 'part', 'sourceRows', 'targetRows'])
      throw new CommandError(
        `${differences.length} of ${summary.parts} parts differ: the source was changed while it was copied. Empty the target and copy again.`,
      )
    },
  },
]

async function migrate({ values, output, stores }: StoreContext): Promise<void> {
  const done = await stores.migrate(values.store)
  output.print(
    done.map(({ tables, from, to }) => ({ tables, from, to, done: resultOf(from, to) })),
    ['tables', 'from', 'to', 'done'],
  )
}

async function checkUpgrade({ values, output, stores }: StoreContext): Promise<void> {
  const plans = await stores.planUpgrade(values.store)
  output.print(
    plans.map((plan) => ({ ...plan, will: intentOf(plan) })),
    ['tables', 'from', 'to', 'bytes', 'seconds', 'will'],
  )
  const newer = plans.filter(({ isNewer }) => isNewer).map(({ tables }) => tables)
  if (newer.length > 0)
    throw new CommandError(
      `${newer.join(', ')}: written by a newer release, which this one cannot go back from. Start that release, or restore a backup made before the upgrade.`,
    )
}

function intentOf({ from, steps, isNewer, rewritesRows }: UpgradePlan): string {
  if (isNewer) return 'be refused'
  if (from === 0) return 'be created when needed'
  if (steps.length === 0) return 'stay'
  return `${steps.join('; ')}${rewritesRows ? ' (writes rows again: needs as much room on the disk)' : ''}`
}

function resultOf(from: number, to: number): string {
  if (from === to) return 'nothing to do'
  return from === 0 ? 'created' : 'upgraded'
}
