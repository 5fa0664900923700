/**
 * Every write is a command: a plain value that crosses to the writer thread. This file applies one to an
 * open transaction; it neither begins nor commits.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Feed } from '../../core/feed.ts'
import type { EncodedMarket } from '../../core/rows/market.ts'
import type { GapReason } from '../coverage.ts'
import type { PackedRows } from '../rows/packed.ts'
import { bookWriter } from './books-write.ts'
import { coverageWriter } from './coverage-write.ts'
import { marketWriter } from './markets-write.ts'
import { rowWriter } from './series-append.ts'
import { feedTable } from './series-feeds.ts'
import { type AppendOutcome, rowsOrRefusals } from './series-refuse.ts'
import { retainStep } from './series-retain.ts'

export type Command =
  | { kind: 'append'; rows: PackedRows[]; mode: 'throw' | 'skip'; recordedAt: number }
  | { kind: 'record'; feed: Feed; from: number; to: number }
  | { kind: 'record_gap'; feed: Feed; from: number; to: number; reason: GapReason }
  | { kind: 'retract'; feed: Feed; from: number; to: number }
  | { kind: 'finalize'; feed: Feed; before: number }
  | { kind: 'retain'; feed: Feed; olderThan: number }
  | { kind: 'markets'; markets: EncodedMarket[] }

export interface CommandResults {
  append: AppendOutcome[]
  record: null
  record_gap: null
  retract: null
  finalize: null
  retain: { deleted: number; more: boolean }
  markets: number
}
export type CommandResult = CommandResults[Command['kind']]

export interface CommandApplier {
  apply(command: Command): CommandResult
  /** What is remembered of the file may be wrong: a transaction failed, or someone else wrote. */
  forget(): void
}

export function commandApplier(database: DatabaseSync): CommandApplier {
  const feeds = feedTable(database)
  const books = bookWriter(database)
  const rows = rowWriter(database, feeds, books)
  const coverage = coverageWriter(database, feeds)
  const markets = marketWriter(database)
  const finalize = database.prepare('UPDATE feeds SET final_before = ?1 WHERE id = ?2 AND final_before < ?1')
  const forget = () => {
    feeds.forget()
    rows.forget()
  }

  const append = rowsOrRefusals(database, (packed, recordedAt) => rows.append(packed, recordedAt), forget)

  return {
    forget,
    apply(command) {
      switch (command.kind) {
        case 'append':
          return command.rows.map((packed) => append(packed, command.mode, command.recordedAt))
        case 'record':
          coverage.record(feeds.open(command.feed), command.from, command.to)
          return null
        case 'record_gap':
          coverage.recordGap(feeds.open(command.feed), command.from, command.to, command.reason)
          return null
        case 'retract':
          coverage.retract(feeds.open(command.feed), command.from, command.to)
          return null
        case 'finalize': {
          const feed = feeds.open(command.feed)
          finalize.run(command.before, feed.id)
          feed.finalBefore = Math.max(feed.finalBefore, command.before)
          return null
        }
        case 'retain': {
          const feed = feeds.open(command.feed)
          const step = retainStep(database, books, feed.id, command.olderThan)
          if (step.deleted > 0) feeds.bump(feed.id)
          if (!step.more) coverage.cut(feed, command.olderThan)
          rows.forget()
          return step
        }
        case 'markets':
          return markets.upsert(command.markets)
      }
    },
  }
}
