/**
 * Restores a base backup into an empty folder, from which the operator starts a PostgreSQL server: it replays the archive
 * up to the wanted time and begins a new timeline. The control file comes last: no server starts without it.
 */
import { existsSync } from 'node:fs'
import { appendFile, cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { formatTime } from '../../core/time.ts'
import type { Clock } from '../../kit/clock.ts'
import { syncFolder } from '../backup/chunks.ts'
import { type BackupProgress, BackupRefusedError, type RestoreSummary } from '../backups.ts'
import { type BaseBackup, baseBackups } from './backup.ts'
import { runTool } from './backup-tools.ts'

/** In the folder while the restore is unfinished. */
const MARK = 'restore-unfinished'
const CONTROL = join('global', 'pg_control')
const SETTINGS = 'postgresql.auto.conf'
/** The first process of the service that opens the tables lets their numbers go on above those given since. */
export const RESTORED_FROM = 'tapeline.restored_from'

export async function restoreServer(options: {
  readonly from: string
  readonly to: string
  readonly atMs?: number
  readonly clock: Clock
  readonly onProgress: (progress: BackupProgress) => void
}): Promise<RestoreSummary> {
  const { to, atMs, onProgress } = options
  const from = resolve(options.from)
  const base = choose(await baseBackups(from), from, atMs)
  const source = join(from, 'base', base.name)
  await prepare(to)
  let done = 0
  await cp(source, to, {
    ...{ recursive: true, preserveTimestamps: true, verbatimSymlinks: true },
    filter: (path) => {
      done++
      onProgress({ step: 'restore', about: 'files', done: Math.min(done, base.files), total: base.files })
      return path !== join(source, CONTROL)
    },
  })
  const isArchived = (await archived(join(from, 'wal'))).some((name) => name >= base.firstWal)
  await appendFile(
    join(to, SETTINGS),
    settingsOf(base, from, { atMs, isArchived, nowMs: options.clock.now() }),
  )
  await writeFile(join(to, 'recovery.signal'), '', { mode: 0o600 })
  const ours = [MARK, SETTINGS, 'recovery.signal', CONTROL]
  await runTool('pg_verifybackup', ['-q', ...ours.flatMap((path) => ['-i', path]), to], { major: base.major })
  await cp(join(source, CONTROL), join(to, CONTROL))
  await syncFolder(join(to, 'global'))
  await rm(join(to, MARK))
  await syncFolder(to)
  return {
    takenAtMs: base.takenAtMs,
    files: base.files,
    bytes: base.bytes,
    notes: [
      `Start PostgreSQL ${base.major} on ${to} as the owner of its files: ${isArchived ? `it replays the archive ${join(from, 'wal')}${atMs === undefined ? '' : ` up to ${formatTime(atMs)}`}` : 'there is no archive, so it goes on from the instant of the backup'} and accepts writes when that is done.`,
      ...(atMs === undefined || !isArchived
        ? []
        : [
            `If it ends with "recovery ended before configured recovery target was reached", the archive has nothing of after that time: remove recovery_target_time from ${join(to, SETTINGS)} and start it again, or restore without --at.`,
          ]),
      'Then start the service on it. What was written since is a gap, which the service closes where venues and nodes have the history.',
      'Never start the lost server again beside this one.',
    ],
  }
}

/** Names of the archive's files. */
const archived = (folder: string) => readdir(folder).catch((): string[] => [])

function choose(all: readonly BaseBackup[], from: string, atMs: number | undefined): BaseBackup {
  const found = all.findLast(({ takenAtMs }) => atMs === undefined || takenAtMs <= atMs)
  if (found !== undefined) return found
  throw new BackupRefusedError(
    all.length === 0
      ? `There is no backup in ${from}.`
      : `The oldest backup in ${from} is of ${formatTime(all[0]?.takenAtMs ?? 0)}, after the wanted time.`,
  )
}

async function prepare(to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 })
  const found = (await readdir(to)).filter((name) => name !== 'lost+found')
  if (found.length > 0 && !existsSync(join(to, MARK)))
    throw new BackupRefusedError(
      `${to} is not empty (${found.slice(0, 3).join(', ')}): restore into an empty folder.`,
    )
  // The control file first, the mark last: a kill in between leaves neither a startable nor an unmarked folder.
  for (const name of [CONTROL, ...found.filter((each) => each !== MARK)])
    await rm(join(to, name), { recursive: true, force: true })
  await writeFile(join(to, MARK), '', { mode: 0o600, flush: true })
}

/** Later lines of the file win; earlier ones may be of an earlier restore. */
function settingsOf(
  { takenAtMs }: BaseBackup,
  from: string,
  { atMs, isArchived, nowMs }: { atMs: number | undefined; isArchived: boolean; nowMs: number },
): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`
  const archive = join(from, 'wal')
    .replaceAll('%', '%%')
    .replaceAll(/["\\$`]/g, '\\$&')
  const settings = {
    restore_command: `cp "${archive}/%f" "%p"`,
    // Without an archive nothing lies between the backup and the wanted time: the server would look for it and not start.
    recovery_target: atMs === undefined || isArchived ? '' : 'immediate',
    // The setting knows no names of time zones, and Z is one.
    recovery_target_time:
      atMs === undefined || !isArchived ? '' : new Date(atMs).toISOString().replace('Z', '+00'),
    recovery_target_action: 'promote',
    // With the instant of the restore: the same backup may be restored again, over what the first time has archived.
    [RESTORED_FROM]: `${takenAtMs}.${nowMs}`,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${quoted(value)}\n`)
  return `\n# tapeline restore\n${lines.join('')}`
}
