import type { DatabaseSync } from 'node:sqlite'
import { type Feed, feedName } from '../../core/feed.ts'

export interface StoredFeed {
  id: number
  finalBefore: number
}

/** The writer's view of feeds; cleared when another connection may have changed them. */
export interface FeedTable {
  /** Creates the feed on first sight. */
  open(feed: Feed): StoredFeed
  /** Something before the feed's finality changed: pages built on it are void. */
  bump(id: number): void
  forget(): void
}

export function feedTable(database: DatabaseSync): FeedTable {
  const known = new Map<string, StoredFeed>()
  const create = database.prepare(
    'INSERT INTO feeds (dataset, source, symbol, interval) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const find = database.prepare(
    'SELECT id, final_before FROM feeds WHERE dataset = ? AND source = ? AND symbol = ? AND interval = ?',
  )
  const bump = database.prepare('UPDATE feeds SET epoch = epoch + 1 WHERE id = ?')
  return {
    open(feed) {
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
    bump: (id) => void bump.run(id),
    forget: () => known.clear(),
  }
}
