/** A data folder as the source or the target of a copy. */
import { existsSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { ENVIRONMENTS } from '../../core/environment.ts'
import { formatTime } from '../../core/time.ts'
import type { Clock } from '../../kit/clock.ts'
import {
  type Area,
  BATCH_BYTES,
  BATCH_ROWS,
  type CopiedRow,
  type CopiedTable,
  type CopiedValue,
  isBig,
  nameOfTable,
  sizeOfRow,
} from '../copy/copied-table.ts'
import {
  assertEmpty,
  assertSameSource,
  type CopyMark,
  CopyRefusedError,
  type CopySide,
  type CopyTarget,
  MARKS_TABLE,
  markOf,
  markText,
  SOURCE_MARK,
} from '../copy/copy-side.ts'
import { OWN_FORM, type OwnForm } from './copy-forms.ts'
import { type StoredTable, storedTables } from './copy-tables.ts'
import { assertAccountsKept } from './emptied.ts'
import { COUNT_FEEDS, COUNT_GROUPS, PAGE_BYTES } from './environment-schema.ts'
import { type DatabaseFile, databaseFiles } from './files.ts'
import { FolderLockedError, lockFolder, SERVICE_LOCK } from './folder-lock.ts'
import { isPartlyCopied, migrate } from './migrate.ts'
import { inTransaction, openDatabase } from './open.ts'
import { assertRestored } from './unfinished-restore.ts'

interface OpenFile extends DatabaseFile {
  readonly area: Area
  database: DatabaseSync | undefined
}

export function openFolderSource(folder: string, clock: Clock): CopySide {
  if (!existsSync(join(folder, 'accounts.db')))
    throw new CopyRefusedError(`${folder} has no databases of this service.`)
  return openFolder(folder, clock, false)
}

export function openFolderTarget(folder: string, clock: Clock): CopyTarget {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return openFolder(folder, clock, true)
}

function openFolder(folder: string, clock: Clock, isTarget: boolean): CopyTarget {
  assertRestored(folder)
  assertAccountsKept(folder)
  const identity = realpathSync(folder)
  const lock = lockOf(folder, clock)
  const files = databaseFiles(folder).map(
    (file): OpenFile => ({ ...file, area: areaOf(file), database: undefined }),
  )
  /** Tables by file; for a file that does not exist only their shape is known. */
  const shapes = new Map<string, StoredTable[]>()
  const forms = new Map<string, OwnForm | undefined>()
  /** Files that already have a table of marks. */
  const begun = new Set<string>()

  const open = (file: OpenFile): DatabaseSync => {
    if (file.database !== undefined) return file.database
    const pageBytes = file.label === 'accounts' || file.label === 'jobs' ? {} : { pageBytes: PAGE_BYTES }
    const database = openDatabase({ file: file.path, ...pageBytes })
    file.database = database
    // Tables are written one after another, so a row may arrive before the row that it refers to.
    database.exec('PRAGMA foreign_keys = OFF')
    migrate(database, file.label, file.migrations, { isCopying: isTarget })
    return database
  }
  const openThere = (): OpenFile[] =>
    files.filter((file) => existsSync(file.path)).filter((file) => open(file) !== undefined)
  const fileOf = ({ area }: CopiedTable): OpenFile => {
    const found = files.find(
      (file) => file.area.label === area.label && file.area.environment === area.environment,
    )
    if (found === undefined) throw new Error(`no file has tables of ${area.label}`)
    return found
  }
  const storedOf = (table: CopiedTable): StoredTable => {
    const name = nameOfTable(table)
    const found = shapesOf(fileOf(table)).find((each) => nameOfTable(each) === name)
    if (found === undefined) throw new Error(`there is no table ${name}`)
    return found
  }
  const shapesOf = (file: OpenFile): StoredTable[] => {
    const known = shapes.get(file.name)
    if (known !== undefined) return known
    const made = existsSync(file.path) ? storedTables(open(file), file.area) : emptyShape(file)
    shapes.set(file.name, made)
    return made
  }
  const formOf = (table: CopiedTable, database: DatabaseSync): OwnForm | undefined => {
    // The two sides may have their columns in different orders.
    const name = `${nameOfTable(table)} ${table.columns.join()}`
    if (!forms.has(name)) forms.set(name, OWN_FORM[table.name]?.(database, table))
    return forms.get(name)
  }

  function* rowsOf(table: CopiedTable, after: readonly CopiedValue[] | undefined): Iterable<CopiedRow> {
    const file = fileOf(table)
    if (!existsSync(file.path)) return
    const database = open(file)
    const form = formOf(table, database)
    if (form?.rows !== undefined) {
      const indexes = indexesOf(storedOf(table).columns, table.columns)
      for (const row of form.rows(after)) yield indexes.map((index) => row[index] ?? null)
      return
    }
    const stored = storedOf(table)
    const key = table.key.map((column) => `"${column}"`).join(', ')
    const bounds = after === undefined ? '' : stored.after
    const statement = database.prepare(`${stored.select(table.columns)} ${bounds} ORDER BY ${key}`)
    statement.setReturnArrays(true)
    for (const found of statement.iterate(...(after ?? []))) {
      const row = (found as unknown as CopiedValue[]).map(portable)
      yield form?.complete === undefined ? row : form.complete(row)
    }
  }

  const insertRows = (table: CopiedTable, database: DatabaseSync, rows: readonly CopiedRow[]) => {
    const form = formOf(table, database)
    if (form?.write !== undefined) {
      const own = form.rows === undefined ? table.columns : storedOf(table).columns
      const indexes = indexesOf(table.columns, own)
      form.write(rows.map((row) => indexes.map((index) => row[index] ?? null)))
      return
    }
    const { insert } = storedOf(table)
    if (insert === undefined) throw new Error(`${nameOfTable(table)} cannot be written`)
    const indexes = insert.columns.map((column) => table.columns.indexOf(column))
    const big = insert.columns.map((column) => isBig(table.name, column))
    const statement = database.prepare(insert.sql)
    for (const row of rows) {
      const values = indexes.map((index, i) => {
        const value = row[index] ?? null
        return big[i] && value !== null ? BigInt(value as string) : value
      })
      statement.run(...values)
    }
  }

  return {
    identity,
    tables: async () => files.flatMap((file) => shapesOf(file)),
    async count(table) {
      const file = fileOf(table)
      if (!existsSync(file.path)) return 0
      const form = formOf(table, open(file))
      if (form?.count !== undefined) return form.count()
      if (form?.rows !== undefined) return [...form.rows(undefined)].length
      const { select } = storedOf(table)
      const found = open(file)
        .prepare(`SELECT count(*) AS n FROM (${select(table.key)})`)
        .get()
      return Number(found?.n)
    },
    async *read(table, after) {
      let [batch, bytes] = [[] as CopiedRow[], 0]
      for (const row of rowsOf(table, after)) {
        batch.push(row)
        bytes += sizeOfRow(row)
        if (batch.length < BATCH_ROWS && bytes < BATCH_BYTES) continue
        yield batch
        batch = []
        bytes = 0
      }
      if (batch.length > 0) yield batch
    },
    secrets: { folder },
    // The folder lock is held as long as the folder is open.
    assertUnused: async () => {},
    async begin(source) {
      const marks = new Map<string, CopyMark>()
      const there = openThere()
      const marked = there.filter(({ database }) => database !== undefined && isPartlyCopied(database))
      if (marked.length === 0) {
        const filled = there.flatMap((file) =>
          shapesOf(file)
            .filter((table) => rowsOf(table, undefined)[Symbol.iterator]().next().done === false)
            .map(nameOfTable),
        )
        assertEmpty(filled, folder)
      }
      const [accounts] = files
      if (accounts === undefined) return marks
      beginMarks(open(accounts))
      for (const file of [accounts, ...marked]) {
        const rows = file.database?.prepare(`SELECT name, value FROM ${MARKS_TABLE}`).all() ?? []
        for (const { name, value } of rows) {
          if (name === SOURCE_MARK) assertSameSource(String(value), source, folder)
          else marks.set(String(name), markOf(String(value)))
        }
      }
      putMark(open(accounts), SOURCE_MARK, source)
      return marks
    },
    async write(table, rows, mark) {
      const file = fileOf(table)
      // A file that would be empty is not created.
      if (rows.length === 0 && mark.rows === 0 && !existsSync(file.path)) return
      const database = open(file)
      if (!begun.has(file.name)) {
        shapes.delete(file.name)
        beginMarks(database)
        begun.add(file.name)
      }
      inTransaction(database, () => {
        if (rows.length > 0) insertRows(table, database, rows)
        putMark(database, nameOfTable(table), markText(mark))
      })
    },
    async derive() {
      for (const { database, area } of files) {
        if (database === undefined || area.label !== 'environment') continue
        database.exec(
          `INSERT OR IGNORE INTO series_active SELECT DISTINCT r.feed, r.ts / 3600000, r.instrument
            FROM feeds f CROSS JOIN series_rows r ON r.feed = f.id WHERE f.dataset = 'snapshots'`,
        )
        database.exec(COUNT_FEEDS)
        database.exec(COUNT_GROUPS)
      }
    },
    async finish() {
      const there = [...openThere()]
      const accounts = files[0] && open(files[0])
      // A kill in between must not lose the record of what was copied, so the accounts file gets all marks before the
      // first table of marks is dropped.
      if (accounts !== undefined) {
        inTransaction(accounts, () => {
          for (const { database } of there) {
            if (database === undefined || database === accounts || !isPartlyCopied(database)) continue
            for (const { name, value } of database.prepare(`SELECT name, value FROM ${MARKS_TABLE}`).all())
              putMark(accounts, String(name), String(value))
          }
        })
        accounts.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      }
      // Every service opens the accounts first, so their marks are dropped last.
      for (const { database } of there.reverse()) {
        database?.exec(`DROP TABLE IF EXISTS ${MARKS_TABLE}`)
        database?.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      }
    },
    async close() {
      for (const file of files) {
        file.database?.close()
        file.database = undefined
      }
      lock.release()
    },
  }
}

function lockOf(folder: string, clock: Clock) {
  try {
    const holder = { pid: process.pid, since: formatTime(clock.now()), work: 'copy' }
    return lockFolder(folder, { name: SERVICE_LOCK, holder })
  } catch (error) {
    if (error instanceof FolderLockedError) throw new CopyRefusedError(`${error.message} Stop it first.`)
    throw error
  }
}

function areaOf({ name, label }: DatabaseFile): Area {
  const environment = ENVIRONMENTS.find((each) => name === each || name.startsWith(`${each}-`))
  return { label: label as Area['label'], environment }
}

/** The index of each wanted column in `columns`. */
function indexesOf(columns: readonly string[], wanted: readonly string[]): number[] {
  return wanted.map((column) => columns.indexOf(column))
}

/** The tables that a missing file would have. */
function emptyShape({ label, migrations, area }: OpenFile): StoredTable[] {
  const database = openDatabase({ file: ':memory:' })
  try {
    migrate(database, label, migrations)
    return storedTables(database, area)
  } finally {
    database.close()
  }
}

/** Other engines cannot store the character U+0000. */
function portable(value: CopiedValue): CopiedValue {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value
}

function beginMarks(database: DatabaseSync): void {
  database.exec(
    `CREATE TABLE IF NOT EXISTS ${MARKS_TABLE} (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID`,
  )
}

function putMark(database: DatabaseSync, name: string, value: string): void {
  database.prepare(`INSERT OR REPLACE INTO ${MARKS_TABLE} VALUES (?, ?)`).run(name, value)
}
