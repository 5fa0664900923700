/**
 * Every write is a command: a plain value that crosses to the writer thread. This file applies one to an
 * open transaction; it neither begins nor commits.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Feed } from '../../core/feed.ts'
import type { EncodedMarket } from '../../core/rows/market.ts'
import type { CoverageChange } from '../coverage.ts'
import type { EnvironmentWrite, WriteResult } from '../environment.ts'
import type { PackedRows } from '../rows/packed.ts'
import { type FaultyRow, findFaultyRows } from '../rows/refuse.ts'
import { bookWriter } from './books-write.ts'
import { coverageWriter } from './coverage-write.ts'
import { marketWriter } from './markets-write.ts'
import { rowWriter } from './series-append.ts'
import { feedTable } from './series-feeds.ts'
import { retainStep } from './series-retain.ts'

export interface WriteCommand {
  kind: 'write'
  rows: readonly PackedRows[]
  recordedAt: number
  coverage: readonly CoverageChange[]
  finalize: NonNullable<EnvironmentWrite['finalize']>
  markets: readonly EncodedMarket[]
}
export interface RetainCommand {
  kind: 'retain'
  feed: Feed
  olderThan: number
}
export type Command = WriteCommand | RetainCommand

export interface CommandResults {
  write: WriteResult | { refused: FaultyRow[] }
  retain: { deleted: number; more: boolean }
}
export type CommandResult = CommandResults[Command['kind']]

export interface CommandApplier {
  apply(command: Command): CommandResult
  /** The rows that made a write fail; none when it failed for another reason. Leaves its changes to be undone. */
  faultyRows(command: WriteCommand, error: unknown): FaultyRow[]
  /** Drops what is remembered of the file: a transaction failed, or another connection wrote. */
  forget(): void
}

/** SQLite's codes for a value that is too big, breaks a constraint, has the wrong type or cannot be bound. */
const ROW_FAULTS = new Set([18, 19, 20, 25])

export function commandApplier(database: DatabaseSync): CommandApplier {
  const feeds = feedTable(database)
  const books = bookWriter(database)
  const rows = rowWriter(database, feeds, books)
  const coverage = coverageWriter(database, feeds)
  const markets = marketWriter(database)

  const write = (command: WriteCommand): WriteResult => {
    const result: WriteResult = { inserted: 0, unchanged: 0, rewritten: 0, corrected: 0, markets: 0 }
    for (const packed of command.rows) {
      const counts = rows.append(packed, command.recordedAt)
      for (const outcome of ['inserted', 'unchanged', 'rewritten', 'corrected'] as const)
        result[outcome] += counts[outcome]
    }
    for (const change of command.coverage) coverage.apply(change)
    for (const { feed, before } of command.finalize) feeds.finalize(feeds.open(feed), before)
    result.markets = markets.upsert(command.markets)
    feeds.writeChanges()
    return result
  }

  const retain = ({ feed: retained, olderThan }: RetainCommand) => {
    const feed = feeds.open(retained)
    const step = retainStep(database, books, feed.id, olderThan)
    if (step.deleted > 0) feeds.changed(feed, 0)
    if (!step.more) coverage.cut(feed, olderThan)
    feeds.writeChanges()
    rows.forget()
    return step
  }

  const forget = () => {
    feeds.forget()
    rows.forget()
  }

  return {
    forget,
    apply: (command) => (command.kind === 'write' ? write(command) : retain(command)),
    faultyRows(command, error) {
      if (!isRowFault(error)) return []
      return findFaultyRows(command.rows, (row) => {
        database.exec('SAVEPOINT row')
        try {
          rows.append(row, command.recordedAt)
          return undefined
        } catch (fault) {
          if (!isRowFault(fault)) throw fault
          database.exec('ROLLBACK TO row')
          forget()
          return fault instanceof Error ? fault.message : String(fault)
        } finally {
          database.exec('RELEASE row')
        }
      })
    },
  }
}

function isRowFault(error: unknown): boolean {
  const code = (error as { errcode?: number }).errcode
  return code === undefined || ROW_FAULTS.has(code & 0xff)
}
