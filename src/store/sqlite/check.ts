/** Checks a data folder: its files, their versions and integrity, and which process uses them. */
import { existsSync, lstatSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Finding } from '../maintain.ts'
import { keyFindings } from './check-keys.ts'
import { assertWhole } from './damaged.ts'
import { versionOfFile } from './emptied.ts'
import { type DatabaseFile, databaseFiles } from './files.ts'
import { currentHolder, describeHolder, SERVICE_LOCK } from './folder-lock.ts'
import { isPartlyCopied, isReleased, schemaVersion } from './migrate.ts'
import { readDatabase } from './read-database.ts'
import { RESTORE_FOLDER } from './unfinished-restore.ts'

const ACCOUNTS = 'accounts.db'
const PUT_BACK = 'put it back from a backup'
const MAX_FAULTS = 5
const OTHERS = 0o077

export function checkFolder(folder: string): Finding[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    return [{ state: 'problem', about: 'folder', finding: `${folder} is not there` }]
  if (existsSync(join(folder, RESTORE_FOLDER)))
    return [
      {
        state: 'problem',
        about: 'restore',
        finding: 'a restore into it is unfinished: run the same tapeline restore again',
      },
    ]
  const files = databaseFiles(folder)
  const there = files.filter(({ path }) => statSync(path, { throwIfNoEntry: false }) !== undefined)
  const hasTables = there.some(({ path }) => (versionOf(path) ?? 0) > 0)
  return [
    folderFinding(folder, there),
    holderFinding(folder),
    ...there.flatMap((file) => fileFindings(file, hasTables)),
    ...missingFindings(
      files.filter((file) => !there.includes(file)).map(({ name }) => `${name}.db`),
      there.length > 0,
    ),
    ...keyFindings(folder, there),
  ]
}

/** Undefined if it cannot be read, which is a finding of its own. */
function versionOf(path: string): number | undefined {
  try {
    return versionOfFile(path)
  } catch {
    return undefined
  }
}

/** Every process creates the database of the accounts first, and those of an environment when it is first served. */
function missingFindings(names: readonly string[], hasOthers: boolean): Finding[] {
  const lost = names.filter((name) => name === ACCOUNTS && hasOthers)
  const notYet = names.filter((name) => !lost.includes(name))
  const finding = `${notYet.join(', ')}: created when needed`
  return [
    ...lost.map((about): Finding => ({ state: 'problem', about, finding: `it is missing: ${PUT_BACK}` })),
    ...(notYet.length === 0 ? [] : [{ state: 'note', about: 'not there yet', finding } as const]),
  ]
}

function folderFinding(folder: string, files: readonly DatabaseFile[]): Finding {
  const about = 'folder'
  if (files.length === 0)
    return { state: 'problem', about, finding: `${folder} has no databases of this service` }
  const open = [folder, ...files.map(({ path }) => path)].filter((path) => lstatSync(path).mode & OTHERS)
  return open.length === 0
    ? { state: 'ok', about, finding: folder }
    : { state: 'problem', about, finding: `other users can open ${open.join(', ')}: chmod go= removes that` }
}

function holderFinding(folder: string): Finding {
  const holder = currentHolder(folder, SERVICE_LOCK)
  const finding = holder === undefined ? 'no service works on it' : describeHolder(holder)
  return { state: 'ok', about: 'in use', finding }
}

/** @param hasTables whether any database of the folder has tables, so that this is not its first start */
function fileFindings(file: DatabaseFile, hasTables: boolean): Finding[] {
  const about = `${file.name}.db`
  try {
    assertWhole(file.path)
    if (hasTables && versionOfFile(file.path) === 0)
      return [
        { state: 'problem', about, finding: `it is empty: ${PUT_BACK}, or remove it to begin a new one` },
      ]
    return readDatabase(file.path, (database) => [
      versionFinding(about, database, file),
      contentFinding(about, database, file.path),
    ])
  } catch (error) {
    return [{ state: 'problem', about, finding: (error as Error).message }]
  }
}

function versionFinding(about: string, database: DatabaseSync, { migrations }: DatabaseFile): Finding {
  const [found, known] = [schemaVersion(database), migrations.length]
  if (isPartlyCopied(database))
    return {
      state: 'problem',
      about,
      finding: 'a copy into it is unfinished: run the same tapeline store copy again',
    }
  if (found > 0 && !isReleased(database))
    return { state: 'problem', about, finding: 'not written by a release of this service' }
  if (found === known) return { state: 'ok', about, finding: `schema version ${found}` }
  return found > known
    ? {
        state: 'problem',
        about,
        finding: `schema version ${found} is newer than this release, which knows ${known}`,
      }
    : { state: 'note', about, finding: `schema version ${found} of ${known}: upgraded at the next start` }
}

function contentFinding(about: string, database: DatabaseSync, path: string): Finding {
  const faults = [
    ...database.prepare(`PRAGMA quick_check(${MAX_FAULTS})`).all(),
    ...database.prepare('PRAGMA foreign_key_check').all().slice(0, MAX_FAULTS),
  ]
    .map((row) => ('quick_check' in row ? String(row.quick_check) : `${row.table} refers to a missing row`))
    .filter((text) => text !== 'ok')
  if (faults.length > 0) return { state: 'problem', about, finding: `damaged: ${faults.join('; ')}` }
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  return { state: 'ok', about, finding: `whole, ${megabytes(statSync(path).size)}, log ${megabytes(log)}` }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
