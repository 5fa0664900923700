/**
 * Restores a base backup into an empty folder. The operator starts a PostgreSQL server on it, which replays the archive
 * up to the wanted time and begins a new timeline. The control file is copied last, because no server starts without
 * it.
 */
import { existsSync } from 'node:fs'
import { appendFile, cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { formatTime } from '../../core/time.ts'
import type { Clock } from '../../kit/clock.ts'
import { syncFolder } from '../backup/chunks.ts'
import { type BackupProgress, BackupRefusedError, type RestoreSummary } from '../backups.ts'
import { type BaseBackup, baseBackups } from './backup.ts'
import { runTool } from './backup-tools.ts'
import {
  comesFrom,
  continuedBy,
  historyId,
  isSegment,
  leadsTo,
  parseHistory,
  type Segment,
  type Timeline,
  timelineAt,
  timelineSetting,
} from './timelines.ts'

/** Exists in the folder while the restore is unfinished. */
const MARK = 'restore-unfinished'
const CONTROL = join('global', 'pg_control')
const SETTINGS = 'postgresql.auto.conf'
/** The restores that began other timelines are taken to be from backups that were no older than this. */
const MAX_BACKUP_AGE_MS = 366 * 86_400_000
/**
 * A setting of the restored server. It makes the first process of the service that opens the tables continue their
 * numbers above those assigned since the backup.
 */
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
  const timelines = await archivedTimelines(join(from, 'wal'))
  const { base, timeline } = await choose(await baseBackups(from), timelines, from, atMs)
  const others = timelines.filter(({ id }) => !comesFrom(timelines, timeline, id)).map(({ id }) => id)
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
  const settings = settingsOf(from, {
    ...{ atMs, isArchived, timeline: timelineSetting(timelines, timeline, base) },
    // The restores that began the other timelines made the numbers there continue far above too.
    numbersSinceMs: Math.max(0, base.takenAtMs - others.length * MAX_BACKUP_AGE_MS),
    nowMs: options.clock.now(),
  })
  await appendFile(join(to, SETTINGS), settings)
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
      ...(others.length === 0
        ? []
        : [
            `Every earlier restore and every standby that took over began a timeline in the archive. The server follows timeline ${timeline}, the one in use at the wanted time; what was written only on ${others.length === 1 ? 'timeline' : 'the timelines'} ${others.join(', ')} is left out.`,
          ]),
      'Then start the service on it. What was written since is a gap, which the service closes where venues and nodes have the history.',
      'Never start the lost server again beside this one.',
    ],
  }
}

/** The names of the files in the archive. */
const archived = (folder: string) => readdir(folder).catch((): string[] => [])

async function archivedTimelines(archive: string): Promise<Timeline[]> {
  const found: Timeline[] = []
  for (const name of await archived(archive)) {
    const id = historyId(name)
    if (id === undefined) continue
    const file = join(archive, name)
    const leftAt = parseHistory(await readFile(file, 'utf8'))
    found.push({ id, leftAt, archivedAtMs: (await stat(file)).mtimeMs })
  }
  return found
}

/** The last whole segment of each timeline. */
async function archivedSegments(archive: string): Promise<Segment[]> {
  const names = (await archived(archive)).filter(isSegment).sort()
  const last = new Map(names.map((name) => [name.slice(0, 8), name]))
  return Promise.all(
    [...last.values()].map(async (name) => ({ name, bytes: (await stat(join(archive, name))).size })),
  )
}

/** The newest backup before the wanted time that leads to the timeline in use then. */
async function choose(
  all: readonly BaseBackup[],
  timelines: readonly Timeline[],
  from: string,
  atMs = Number.POSITIVE_INFINITY,
): Promise<{ base: BaseBackup; timeline: number }> {
  const inUse = timelineAt(timelines, all, atMs)
  const timeline = Number.isFinite(atMs)
    ? continuedBy(timelines, inUse, await archivedSegments(join(from, 'wal')))
    : inUse
  const before = all.filter(({ takenAtMs }) => takenAtMs <= atMs)
  for (const base of before.toReversed()) {
    const manifest = () => readFile(join(from, 'base', base.name, 'backup_manifest'), 'utf8')
    if (await leadsTo(timelines, timeline, base, manifest)) return { base, timeline }
  }
  if (before.length > 0)
    throw new BackupRefusedError(
      `No backup in ${from} leads to timeline ${timeline} of the archive, which was in use at the wanted time: name a time before it began, or after a backup of it.`,
    )
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
  // The control file goes first and the mark stays, so that a kill in between leaves no startable or unmarked folder.
  for (const name of [CONTROL, ...found.filter((each) => each !== MARK)])
    await rm(join(to, name), { recursive: true, force: true })
  await writeFile(join(to, MARK), '', { mode: 0o600, flush: true })
}

/** Later lines of the file win over earlier ones, which may come from an earlier restore. */
function settingsOf(
  from: string,
  wanted: {
    atMs: number | undefined
    isArchived: boolean
    timeline: string
    numbersSinceMs: number
    nowMs: number
  },
): string {
  const { atMs, isArchived, timeline, numbersSinceMs, nowMs } = wanted
  const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`
  const archive = join(from, 'wal')
    .replaceAll('%', '%%')
    .replaceAll(/["\\$`]/g, '\\$&')
  const settings = {
    restore_command: `cp "${archive}/%f" "%p"`,
    // Without an archive nothing can be replayed up to the wanted time, so the server would fail to start.
    recovery_target: atMs === undefined || isArchived ? '' : 'immediate',
    // The setting does not accept time zone names, and Z is one.
    recovery_target_time:
      atMs === undefined || !isArchived ? '' : new Date(atMs).toISOString().replace('Z', '+00'),
    recovery_target_timeline: timeline,
    recovery_target_action: 'promote',
    // Includes the time of the restore, because the same backup may be restored again over what the first restore
    // archived.
    [RESTORED_FROM]: `${numbersSinceMs}.${nowMs}`,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${quoted(value)}\n`)
  return `\n# tapeline restore\n${lines.join('')}`
}
