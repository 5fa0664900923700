/** The tokens of the chain index. Writes run inside the transaction that applies or removes their block. */
import type { DatabaseSync } from 'node:sqlite'
import { acceptedRank } from '../chain/history-place.ts'
import type { NewEvent } from '../events.ts'
import {
  type RetractableEvent,
  type StoredToken,
  type TokenChange,
  type TokenEntry,
  type TokenHolder,
  tokenKey,
} from '../tokens.ts'
import { logIdOf } from './events-read.ts'
import { oneStateOf } from './open.ts'
import type { Row } from './rows.ts'

export function tokenWriter(database: DatabaseSync) {
  const put = database.prepare('INSERT OR REPLACE INTO token_entries VALUES (?, ?, ?, ?, ?)')
  const remove = database.prepare('DELETE FROM token_entries WHERE key = ?')
  const insertUndo = database.prepare('INSERT INTO token_undo VALUES (?, ?, ?, ?)')
  const undone = database.prepare(
    'SELECT key, before FROM token_undo WHERE rank >= ? AND rank < ? ORDER BY rank DESC, n DESC',
  )
  const removeUndo = database.prepare('DELETE FROM token_undo WHERE rank >= ? AND rank < ?')
  const insertEvent = database.prepare('INSERT INTO retractable_events VALUES (?, ?, ?)')
  // Deletes all events from a rank on, because events from before a gap may rank above the end of this chain. They are
  // retracted with the block, and only once.
  const removeEvents = database.prepare('DELETE FROM retractable_events WHERE rank >= ?')

  function set(key: string, entry: TokenEntry | null): void {
    if (entry === null) remove.run(key)
    else put.run(key, entry.token, entry.kind, entry.place, entry.value)
  }

  return {
    apply(rank: number, changes: readonly TokenChange[]): void {
      for (const [n, { key, before, after }] of changes.entries()) {
        insertUndo.run(rank, n, key, before && JSON.stringify(before))
        set(key, after)
      }
    },
    report(rank: number, events: readonly { readonly seq: number; readonly event: NewEvent }[]): void {
      for (const { seq, event } of events) insertEvent.run(rank, seq, event.tail)
    },
    /** Undoes the chain block with this score, which leaves the chain. */
    removeBlock(blueScore: number): void {
      const bounds = [acceptedRank(blueScore, 0), acceptedRank(blueScore + 1, 0)] as const
      for (const { key, before } of undone.all(...bounds)) set(String(key), entryOf(before))
      removeUndo.run(...bounds)
      removeEvents.run(bounds[0])
    },
    /** Keeps the events, because what they reported may still be retracted. */
    forget(): void {
      database.exec('DELETE FROM token_entries; DELETE FROM token_undo')
    },
  }
}

/** Deletes what can no longer leave the chain. */
export function tokenPruner(database: DatabaseSync, step: number) {
  const oldest = '(SELECT min(blue_score) FROM chain_blocks) * 1048576'
  const statements = [
    `DELETE FROM token_undo WHERE (rank, n) IN
      (SELECT rank, n FROM token_undo WHERE rank < ${oldest} ORDER BY rank LIMIT ${step})`,
    `DELETE FROM retractable_events WHERE (rank, seq) IN
      (SELECT rank, seq FROM retractable_events WHERE rank < ${oldest} ORDER BY rank LIMIT ${step})`,
  ].map((sql) => database.prepare(sql))
  return (): number => Math.max(...statements.map((statement) => Number(statement.run().changes)))
}

export function tokenReader(database: DatabaseSync) {
  const ids = logIdOf(database)
  const inOneState = oneStateOf(database)
  const entry = database.prepare('SELECT * FROM token_entries WHERE key = ?')
  const lowest = database.prepare(
    'SELECT min(blue_score) AS score FROM chain_blocks WHERE hash IN (SELECT unhex(value) FROM json_each(?))',
  )
  const replaced = database.prepare(
    'SELECT before FROM token_undo WHERE key = ? AND rank >= ? ORDER BY rank, n LIMIT 1',
  )
  const events = database.prepare(
    'SELECT seq, tail FROM retractable_events WHERE rank >= ? ORDER BY seq DESC',
  )
  const page = database.prepare(
    `SELECT token, value FROM token_entries WHERE kind = 'token' AND token > ? ORDER BY token LIMIT ?`,
  )
  const holders = database.prepare(
    `SELECT key, place, value FROM token_entries
      WHERE token = ? AND kind = 'holder' AND (place, key) < (?, ?) ORDER BY place DESC, key DESC LIMIT ?`,
  )

  function lowestRank(hashes: readonly string[]): number | undefined {
    const score = lowest.get(JSON.stringify(hashes))?.score ?? null
    return score === null ? undefined : acceptedRank(Number(score), 0)
  }

  return {
    tokenEntries(keys: readonly string[], without: readonly string[]): Map<string, TokenEntry> {
      return inOneState(() => {
        const from = lowestRank(without)
        const found = new Map<string, TokenEntry>()
        for (const key of keys) {
          const before = from === undefined ? undefined : replaced.get(key, from)
          const row = before === undefined ? entry.get(key) : undefined
          const read = before === undefined ? row && toEntry(row) : entryOf(before.before)
          if (read) found.set(key, read)
        }
        return found
      })
    },
    retractable(hashes: readonly string[]): RetractableEvent[] {
      const from = lowestRank(hashes)
      if (from === undefined) return []
      return events.all(from).map(({ seq, tail }) => ({ eventId: ids.of(Number(seq)), tail: String(tail) }))
    },
    token(token: string): string | undefined {
      const row = entry.get(tokenKey(token))
      return row && String(row.value)
    },
    tokens({ limit, after = '' }: { limit: number; after?: string }): {
      tokens: StoredToken[]
      hasMore: boolean
    } {
      const rows = page.all(after, limit + 1)
      const tokens = rows
        .slice(0, limit)
        .map(({ token, value }) => ({ token: String(token), value: String(value) }))
      return { tokens, hasMore: rows.length > limit }
    },
    tokenHolders(query: {
      token: string
      limit: number
      after?: { readonly place: string; readonly key: string }
    }): { holders: TokenHolder[]; hasMore: boolean } {
      const { token, limit, after = { place: '~', key: '' } } = query
      const rows = holders.all(token, after.place, after.key, limit + 1)
      const found = rows.slice(0, limit).map(({ key, place, value }) => ({
        key: String(key),
        place: String(place),
        value: String(value),
      }))
      return { holders: found, hasMore: rows.length > limit }
    },
  }
}

function entryOf(before: unknown): TokenEntry | null {
  return before === null ? null : (JSON.parse(String(before)) as TokenEntry)
}

function toEntry(row: Row): TokenEntry {
  const { token, kind, place, value } = row
  return {
    token: String(token),
    kind: kind as TokenEntry['kind'],
    place: String(place),
    value: String(value),
  }
}
