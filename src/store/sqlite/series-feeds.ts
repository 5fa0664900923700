import type { DatabaseSync } from 'node:sqlite'
import { type Feed, feedName } from '../../core/feed.ts'

export interface StoredFeed {
  id: number
  finalBefore: number
}

interface FeedChange {
  isFinal: boolean
  corrections: number
  rows: number
  bytes: number
}

/** Changes of counters, positive or negative. */
export interface Counted {
  corrections?: number
  rows?: number
  bytes?: number
}

/** The writer's cache of feeds, dropped when another connection may have changed them. */
export function feedTable(database: DatabaseSync) {
  const known = new Map<string, StoredFeed>()
  const changes = new Map<number, FeedChange>()
  const create = database.prepare(
    'INSERT INTO feeds (dataset, source, symbol, interval) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const find = database.prepare(
    'SELECT id, final_before FROM feeds WHERE dataset = ? AND source = ? AND symbol = ? AND interval = ?',
  )
  const finalize = database.prepare('UPDATE feeds SET final_before = ? WHERE id = ?')
  const change = database.prepare(
    // `max(0, …)` because a rewritten open row may be shorter or longer than it was counted.
    `UPDATE feeds SET version = version + 1, epoch = epoch + ?, corrections = corrections + ?,
      rows = max(0, rows + ?), bytes = max(0, bytes + ?) WHERE id = ?`,
  )
  /** Notes that the feed changed at this time or later. */
  const changed = (feed: StoredFeed, ts: number, counted: Counted = {}): void => {
    const isFinal = ts < feed.finalBefore
    const { corrections = 0, rows = 0, bytes = 0 } = counted
    const earlier = changes.get(feed.id)
    if (earlier === undefined) changes.set(feed.id, { isFinal, corrections, rows, bytes })
    else {
      earlier.isFinal ||= isFinal
      earlier.corrections += corrections
      earlier.rows += rows
      earlier.bytes += bytes
    }
  }
  return {
    /** Creates the feed if it does not exist. */
    open(feed: Feed): StoredFeed {
      const name = feedName(feed)
      const hit = known.get(name)
      if (hit !== undefined) return hit
      const key = [feed.dataset, feed.source, feed.symbol, feed.interval] as const
      create.run(...key)
      const row = find.get(...key)
      if (row === undefined) throw new Error(`feed ${name} could not be created`)
      const stored = { id: Number(row.id), finalBefore: Number(row.final_before) }
      known.set(name, stored)
      return stored
    },
    changed,
    finalize(feed: StoredFeed, before: number): void {
      if (before <= feed.finalBefore) return
      finalize.run(before, feed.id)
      feed.finalBefore = before
      changed(feed, before)
    },
    /** Gives the changed feeds their new versions and epochs; the last step of a write. */
    writeChanges(): void {
      for (const [id, { isFinal, corrections, rows, bytes }] of changes)
        change.run(isFinal ? 1 : 0, corrections, rows, bytes, id)
      changes.clear()
    },
    forget(): void {
      known.clear()
      changes.clear()
    },
  }
}

export type FeedTable = ReturnType<typeof feedTable>
