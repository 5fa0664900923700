/**
 * The operations of an environment's writer. Each runs inside a transaction that group-commit.ts begins and commits.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Feed } from '../../core/feed.ts'
import type { EncodedMarket } from '../../core/rows/market.ts'
import type { CoverageChange } from '../coverage.ts'
import type { EnvironmentWrite, WriteResult } from '../environment.ts'
import type { BlockForm } from '../rows/block-form.ts'
import type { PackedRows } from '../rows/packed.ts'
import { type FaultyRow, findFaultyRows } from '../rows/refuse.ts'
import { BookWriter } from './books-write.ts'
import { coverageWriter } from './coverage-write.ts'
import type { Writes } from './group-commit.ts'
import { marketWriter } from './markets-write.ts'
import { rowPacker } from './packed-write.ts'
import { rowWriter } from './series-append.ts'
import { feedTable } from './series-feeds.ts'
import { retainStep } from './series-retain.ts'
import { vacuumStep } from './vacuum.ts'

/** A write with its rows and markets encoded: a plain value that can be sent to the writer thread. */
export interface EncodedWrite {
  rows: readonly PackedRows[]
  recordedAt: number
  coverage: readonly CoverageChange[]
  finalize: NonNullable<EnvironmentWrite['finalize']>
  markets: readonly EncodedMarket[]
}

export type EnvironmentOperations = {
  /** Writes all of it, or nothing if a row is refused. */
  write(write: EncodedWrite): WriteResult | { refused: FaultyRow[] }
  /** Deletes some of the older rows; `more` while some are left. */
  retain(feed: Feed, olderThan: number): { deleted: number; more: boolean }
  /** Packs some of the feed's final rows before an instant; `more` while some are left. */
  compact(
    feed: Feed,
    before: number,
    options: { form: BlockForm; withUnfinal: boolean },
  ): { packed: number; more: boolean }
  /** Returns some free pages to the file system; `more` while many are free. */
  giveBackRoom(): { bytes: number; more: boolean }
}

/** SQLite codes for a value that is too big, violates a constraint, has the wrong type or cannot be bound. */
const ROW_FAULTS = new Set([18, 19, 20, 25])

/** Pages of open candles change every second; the longer the log, the less often each is copied into the file. */
const CHECKPOINT_PAGES = 2_000

export function environmentWrites(database: DatabaseSync): Writes<EnvironmentOperations> {
  database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  const feeds = feedTable(database)
  const books = new BookWriter(database)
  const packer = rowPacker(database)
  const rows = rowWriter(database, { feeds, books, packer })
  const coverage = coverageWriter(database, feeds)
  const writeMarkets = marketWriter(database)
  const dataVersion = database.prepare('PRAGMA data_version')
  let lastVersion = -1

  const forget = () => {
    feeds.forget()
    rows.forget()
  }
  /** Cached state of the file is valid only while no other connection writes. */
  const forgetIfOthersWrote = () => {
    const version = Number(dataVersion.get()?.data_version)
    if (version !== lastVersion) forget()
    lastVersion = version
  }
  // Compiled once, because every write has one.
  const saveWhole = database.prepare('SAVEPOINT whole')
  const releaseWhole = database.prepare('RELEASE whole')
  const undoTo = (savepoint: string) => {
    database.exec(`ROLLBACK TO ${savepoint}`)
    forget()
  }

  /**
   * A full disk has already rolled back the transaction with its savepoints; a failing release would hide that error.
   */
  const release = (savepoint: string) => {
    if (database.isTransaction) database.exec(`RELEASE ${savepoint}`)
  }

  const writeAll = (write: EncodedWrite): WriteResult => {
    const result: WriteResult = { inserted: 0, unchanged: 0, rewritten: 0, corrected: 0, markets: 0 }
    for (const packed of write.rows) {
      const counts = rows.append(packed, write.recordedAt)
      for (const outcome of ['inserted', 'unchanged', 'rewritten', 'corrected'] as const)
        result[outcome] += counts[outcome]
    }
    for (const change of write.coverage) coverage.apply(change)
    for (const { feed, before } of write.finalize) feeds.finalize(feeds.open(feed), before)
    result.markets = writeMarkets(write.markets)
    feeds.writeChanges()
    return result
  }

  const faultOf = (row: PackedRows, recordedAt: number): string | undefined => {
    database.exec('SAVEPOINT row')
    try {
      rows.append(row, recordedAt)
      return undefined
    } catch (fault) {
      if (!isRowFault(fault)) throw fault
      undoTo('row')
      return fault instanceof Error ? fault.message : String(fault)
    } finally {
      release('row')
    }
  }

  return {
    forget,
    operations: {
      write(write) {
        forgetIfOthersWrote()
        saveWhole.run()
        try {
          return writeAll(write)
        } catch (error) {
          if (!isRowFault(error)) throw error
          undoTo('whole')
          const refused = findFaultyRows(write.rows, (row) => faultOf(row, write.recordedAt))
          undoTo('whole')
          if (refused.length === 0) throw error
          return { refused }
        } finally {
          if (database.isTransaction) releaseWhole.run()
        }
      },
      retain(key, olderThan) {
        forgetIfOthersWrote()
        const feed = feeds.open(key)
        coverage.cut(feed, olderThan)
        const step = retainStep(database, { books, packer }, feed.id, olderThan)
        const { deleted, more } = step
        if (deleted > 0) feeds.changed(feed, 0, { rows: -step.rows, bytes: -step.bytes })
        feeds.writeChanges()
        rows.forget()
        return { deleted, more }
      },
      compact(key, before, { form, withUnfinal }) {
        forgetIfOthersWrote()
        const feed = feeds.open(key)
        return packer.pack(feed.id, withUnfinal ? before : Math.min(before, feed.finalBefore), form)
      },
      giveBackRoom: () => vacuumStep(database),
    },
  }
}

function isRowFault(error: unknown): boolean {
  const code = (error as { errcode?: number }).errcode
  return code === undefined || ROW_FAULTS.has(code & 0xff)
}
