/** Backups of the configured store, and restoring from them. */
import { formatTime } from '../core/time.ts'
import type {
  BackupEntry,
  BackupFault,
  BackupProgress,
  BackupSummary,
  RestoreSummary,
} from '../store/backups.ts'
import { CommandError, type CommandForm, needed, UsageError } from './command.ts'
import { copyProgress } from './copy-progress.ts'
import { parseTimeOption } from './options.ts'
import type { Output } from './output.ts'

export interface BackupAccess {
  backup(request: { to: string; keep: number | undefined; onProgress: OnProgress }): Promise<BackupSummary>
  list(from: string): Promise<BackupEntry[]>
  check(from: string, onProgress: OnProgress): Promise<{ backups: number; faults: BackupFault[] }>
  restore(request: {
    from: string
    /** Defaults to the configured data folder. A PostgreSQL database has to be named. */
    to: string | undefined
    atMs: number | undefined
    onProgress: OnProgress
  }): Promise<RestoreSummary>
}

type OnProgress = (progress: BackupProgress) => void

interface BackupContext {
  readonly values: Readonly<Record<string, string | undefined>>
  readonly output: Output
  readonly backups: BackupAccess
}

interface BackupCommand extends CommandForm {
  run(context: BackupContext): Promise<void>
}

const MAX_KEPT = 10_000
const from = { about: 'The folder of backups.', required: true }

export const BACKUP_COMMANDS: readonly BackupCommand[] = [
  {
    name: 'backup',
    about: 'Backs up the store while the service runs; stores only what is new since the last time.',
    options: {
      to: { about: 'The folder of backups; created where it is missing.', required: true },
      keep: { about: 'How many backups stay there; older ones are removed. Left out: all.' },
    },
    async run({ values, output, backups }) {
      const [to, keep] = [needed(values, 'to'), keepOf(values.keep)]
      const { takenAtMs, ...done } = await withProgress((onProgress) =>
        backups.backup({ to, keep, onProgress }),
      )
      output.print({ taken_at: formatTime(takenAtMs), ...named(done), result: 'verified' })
    },
  },
  {
    name: 'backup list',
    about: 'Lists the backups in a folder, newest first.',
    options: { from },
    async run({ values, output, backups }) {
      const list = await backups.list(needed(values, 'from'))
      output.print(
        list.map(({ takenAtMs, ...rest }) => ({ taken_at: formatTime(takenAtMs), ...rest })),
        ['taken_at', 'release', 'files', 'bytes'],
      )
    },
  },
  {
    name: 'backup check',
    about: 'Reads every backup in a folder and says which are damaged.',
    options: { from },
    async run({ values, output, backups }) {
      const { backups: count, faults } = await withProgress((onProgress) =>
        backups.check(needed(values, 'from'), onProgress),
      )
      if (faults.length === 0) {
        output.print({ backups: count, result: 'all are whole' })
        return
      }
      output.print(
        faults.map(({ takenAtMs, file, fault }) => ({ taken_at: formatTime(takenAtMs), file, fault })),
        ['taken_at', 'file', 'fault'],
      )
      throw new CommandError(`${new Set(faults.map((each) => each.takenAtMs)).size} of ${count} are damaged.`)
    },
  },
  {
    name: 'restore',
    about: 'Restores a backup into an empty folder; a killed one is run again.',
    options: {
      from,
      at: { about: 'The newest backup up to this time, such as 2026-03-14T04:00:00Z. Left out: the newest.' },
      to: {
        about: 'The empty folder; left out: TAPELINE_DATA. For PostgreSQL the data folder of a new server.',
      },
    },
    async run({ values, output, backups }) {
      const request = { from: needed(values, 'from'), to: values.to, atMs: parseTimeOption(values, 'at') }
      const { takenAtMs, notes, ...done } = await withProgress((onProgress) =>
        backups.restore({ ...request, onProgress }),
      )
      output.print({ taken_at: formatTime(takenAtMs), ...done, notes: notes.join('\n') })
    },
  },
]

async function withProgress<T>(work: (onProgress: OnProgress) => Promise<T>): Promise<T> {
  const progress = copyProgress('MB')
  return work(progress.show).finally(progress.end)
}

function keepOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const keep = Number(text)
  if (!Number.isInteger(keep) || keep < 1 || keep > MAX_KEPT)
    throw new UsageError(`--keep must be a whole number from 1 to ${MAX_KEPT}.`)
  return keep
}

function named({
  files,
  bytes,
  addedBytes,
  removed,
  freedBytes,
  notes = [],
}: Omit<BackupSummary, 'takenAtMs'>) {
  const done = { files, bytes, added_bytes: addedBytes, removed, freed_bytes: freedBytes }
  return notes.length === 0 ? done : { ...done, notes: notes.join(' ') }
}
