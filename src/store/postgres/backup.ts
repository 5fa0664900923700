/**
 * Base backups of a PostgreSQL server by its own programs, in one folder:
 *
 *   base/<time>/       the output of pg_basebackup with its manifest, verified by pg_verifybackup
 *   base/<time>.json   describes the backup, which exists once this file is written
 *   wal/               the archive, written by the server's archive_command
 *   work/              files of a running or killed backup; the next backup removes them
 */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { claimFolder, writeWhole } from '../backup/about-folder.ts'
import type { LockBackups } from '../backup/ports.ts'
import {
  type BackupEntry,
  type BackupFault,
  type BackupProgress,
  BackupRefusedError,
  type BackupSummary,
} from '../backups.ts'
import type { PostgresAddress } from './address.ts'
import { connectionText, passwordLine, runTool } from './backup-tools.ts'
import { connect, storeError } from './connection.ts'

export interface BaseBackup {
  readonly name: string
  readonly takenAtMs: number
  readonly release: string
  /** Identifies the server; the same for all backups in a folder. */
  readonly identity: string
  readonly major: number
  readonly files: number
  readonly bytes: number
  /** The oldest WAL file that a restore of this backup needs. */
  readonly firstWal: string
}

interface ServerBackupOptions {
  readonly to: string
  readonly keep?: number
  readonly release: string
  readonly lock: LockBackups
  readonly onProgress: (progress: BackupProgress) => void
}

const KILOBYTE = 1_024
/** The name of a WAL file begins with its timeline; its position in the log follows. */
const TIMELINE_DIGITS = 8

export async function backupServer(
  address: PostgresAddress,
  { to, keep, release, lock, onProgress }: ServerBackupOptions,
): Promise<BackupSummary> {
  const before = await askServer(address)
  const unlock = await claimFolder(to, 'postgres', lock)
  const work = join(to, 'work')
  try {
    await rm(work, { recursive: true, force: true })
    for (const each of ['base', 'work']) await mkdir(join(to, each), { recursive: true, mode: 0o700 })
    const known = await baseBackups(to)
    await removeUnlisted(join(to, 'base'), known)
    if (known.some(({ identity }) => identity !== before.identity))
      throw new BackupRefusedError(`${to} has backups of another server: name another folder.`)
    const passwordFile = address.password === undefined ? undefined : join(work, 'password')
    if (passwordFile !== undefined) await writeFile(passwordFile, passwordLine(address), { mode: 0o600 })
    const copy = join(work, 'base')
    const connection = connectionText(address, passwordFile)
    await runTool(
      'pg_basebackup',
      ['-D', copy, '-d', connection, '-X', 'stream', '-c', 'fast', '--no-password', '-P'],
      { major: before.major, onLine: (line) => progressOf(line, onProgress) },
    )
    // The server's clock, because the times in the archive come from it as well.
    const { nowMs: takenAtMs } = await askServer(address)
    await runTool('pg_verifybackup', ['-q', copy], { major: before.major })
    const name = new Date(takenAtMs).toISOString().replaceAll(':', '')
    const size = await sizeOf(copy)
    onProgress({ step: 'verify', about: 'pg_verifybackup', done: size.bytes, total: size.bytes })
    const { identity, major } = before
    const firstWal = await firstWalOf(copy)
    const base: BaseBackup = { name, takenAtMs, release, identity, major, ...size, firstWal }
    await rename(copy, join(to, 'base', name))
    await writeWhole(join(to, 'base', `${name}.json`), JSON.stringify(base), join(to, 'base'))
    const removed = await removeOld(to, [...known, base], keep)
    const notes = before.isArchiving
      ? []
      : [
          'The server archives no WAL (archive_mode is off): only the instants of backups can be restored. The guide says how to set it.',
        ]
    return { takenAtMs, ...size, addedBytes: size.bytes, ...removed, notes }
  } finally {
    await rm(work, { recursive: true, force: true }).catch(() => {})
    unlock()
  }
}

/** Oldest first. */
export async function baseBackups(folder: string): Promise<BaseBackup[]> {
  const base = join(folder, 'base')
  const names = (await readdir(base)).filter((name) => name.endsWith('.json')).sort()
  const found: BaseBackup[] = []
  for (const name of names) {
    const read = await readFile(join(base, name), 'utf8').then(
      (text) => JSON.parse(text) as BaseBackup,
      () => undefined,
    )
    const isGood = Number.isSafeInteger(read?.takenAtMs) && `${read?.name}.json` === name
    if (read === undefined || !isGood) throw new BackupRefusedError(`${join(base, name)} is damaged.`)
    found.push(read)
  }
  return found
}

export async function listBaseBackups(folder: string): Promise<BackupEntry[]> {
  return (await baseBackups(folder)).reverse()
}

export async function checkBaseBackups(folder: string): Promise<{ backups: number; faults: BackupFault[] }> {
  const all = await baseBackups(folder)
  const faults: BackupFault[] = []
  for (const { name, major, takenAtMs } of all) {
    await runTool('pg_verifybackup', ['-q', join(folder, 'base', name)], { major }).catch((error: Error) => {
      if (/not installed/.test(error.message)) throw error
      faults.push({ takenAtMs, file: name, fault: error.message })
    })
  }
  return { backups: all.length, faults }
}

async function askServer(address: PostgresAddress) {
  const { client } = await connect(address, [address.schema])
  try {
    const { rows } = await client.query<{ major: number; identity: string; now: string; archive: string }>(
      `SELECT current_setting('server_version_num')::int / 10000 AS major,
        (SELECT system_identifier FROM pg_control_system())::text AS identity,
        floor(extract(epoch FROM clock_timestamp()) * 1000)::text AS now,
        current_setting('archive_mode') AS archive`,
    )
    const { major = 0, identity = '', now, archive } = rows[0] ?? {}
    return { major, identity, nowMs: Number(now), isArchiving: archive !== 'off' }
  } catch (error) {
    throw storeError(error)
  } finally {
    await client.end()
  }
}

/** Parses a line such as `12345/67890 kB (18%), 0/1 tablespace`. */
function progressOf(line: string, onProgress: ServerBackupOptions['onProgress']): void {
  const [, done, total] = /(\d+)\/\s*(\d+) kB/.exec(line) ?? []
  if (done === undefined || total === undefined) return
  onProgress({
    ...{ step: 'copy', about: 'pg_basebackup' },
    ...{ done: Number(done) * KILOBYTE, total: Number(total) * KILOBYTE },
  })
}

async function firstWalOf(copy: string): Promise<string> {
  const label = await readFile(join(copy, 'backup_label'), 'utf8')
  const [, file] = /^START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)/m.exec(label) ?? []
  if (file === undefined) throw new BackupRefusedError('pg_basebackup wrote no backup_label.')
  return file
}

async function sizeOf(folder: string): Promise<{ files: number; bytes: number }> {
  let [files, bytes] = [0, 0]
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    files++
    bytes += (await stat(join(entry.parentPath, entry.name))).size
  }
  return { files, bytes }
}

/** Removes folders of backups that were killed before they were listed, or while they were being removed. */
async function removeUnlisted(folder: string, known: readonly BaseBackup[]): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory() && !known.some(({ name }) => name === entry.name))
      await rm(join(folder, entry.name), { recursive: true, force: true })
}

/**
 * The oldest WAL file that these backups need. After a restore to an earlier time a newer backup may begin earlier in
 * the log than an older one, on a new timeline. Timelines are not compared, because pg_archivecleanup ignores them as
 * well.
 */
export function firstNeededWal(backups: readonly Pick<BaseBackup, 'firstWal'>[]): string | undefined {
  const placeOf = (file: string) => file.slice(TIMELINE_DIGITS)
  const [first] = backups.map(({ firstWal }) => firstWal).sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
  return first
}

/** Also removes WAL files that only the removed backups needed. */
async function removeOld(
  folder: string,
  all: readonly BaseBackup[],
  keep: number | undefined,
): Promise<{ removed: number; freedBytes: number }> {
  const old = keep === undefined ? [] : all.slice(0, Math.max(0, all.length - keep))
  let freedBytes = 0
  for (const { name, bytes } of old) {
    await rm(join(folder, 'base', `${name}.json`))
    await rm(join(folder, 'base', name), { recursive: true, force: true })
    freedBytes += bytes
  }
  const left = all.slice(old.length)
  const [oldest, needed] = [left[0], firstNeededWal(left)]
  const archive = join(folder, 'wal')
  if (old.length > 0 && oldest !== undefined && needed !== undefined && existsSync(archive))
    await runTool('pg_archivecleanup', [archive, needed], { major: oldest.major })
  return { removed: old.length, freedBytes }
}
