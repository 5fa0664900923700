/**
 * Reads groups of rows (see books-write.ts): the keys of a group's blocks and tail as one list, and the rows behind
 * them.
 */
import type { DatabaseSync } from 'node:sqlite'
import { type BookBlock, decodeBlocks } from '../books/block.ts'
import type { BookRow } from '../books/book-row.ts'
import { blockView, type GroupReader, type GroupView, mergedView, tailRowOf } from '../books/group.ts'
import type { BlockCache } from './block-cache.ts'

interface Found {
  id: number
  version: number
  waiting: boolean
}

/** The version is checked on use, so connections that see different states may share them. */
interface UnpackedBlock {
  version: number
  block: BookBlock
}

/** A reader with this many views is not reused for the next page. */
const MAX_KEPT_VIEWS = 1_000

export interface GroupReaders {
  /** The reader for the state that the current transaction sees; pages of the same state share it. */
  current(): GroupReader
  /** Drops a reader with many views after a long read, because the next read may come much later. */
  forgetLarge(): void
}

export function groupReaders(database: DatabaseSync, cache: BlockCache): GroupReaders {
  const blocks = cache.part<UnpackedBlock>('books', ({ block }) => block.bytes)
  const committed = database.prepare('PRAGMA data_version')
  const own = database.prepare('SELECT total_changes() AS n')
  let last: { state: string; reader: GroupReader; views: Map<string, unknown> } | undefined
  const nearest = {
    asc: {
      all: database.prepare('SELECT min(span) AS span FROM book_groups WHERE feed = ? AND span >= ?'),
      one: database.prepare(
        'SELECT min(span) AS span FROM book_groups WHERE feed = ? AND span >= ? AND instrument = ?',
      ),
    },
    desc: {
      all: database.prepare('SELECT max(span) AS span FROM book_groups WHERE feed = ? AND span <= ?'),
      one: database.prepare(
        'SELECT max(span) AS span FROM book_groups WHERE feed = ? AND span <= ? AND instrument = ?',
      ),
    },
  }
  const inSpan = database.prepare(
    'SELECT id, instrument, version, waiting FROM book_groups WHERE feed = ? AND span = ?',
  )
  const one = database.prepare(
    'SELECT id, instrument, version, waiting FROM book_groups WHERE feed = ? AND span = ? AND instrument = ?',
  )
  const listed = database.prepare(
    'SELECT DISTINCT instrument FROM book_groups WHERE feed = ? AND span BETWEEN ? AND ?',
  )
  const data = database.prepare('SELECT data FROM book_blocks WHERE book_group = ? ORDER BY part')
  const tailKeys = database.prepare('SELECT ts, seq FROM book_tail WHERE book_group = ? ORDER BY ts, seq')
  const tail = database.prepare(
    'SELECT ts, seq, recorded_at, text, sides FROM book_tail WHERE book_group = ?',
  )

  const readBlock = (id: number, version: number, span: number): BookBlock | undefined => {
    const hit = blocks.get(id)
    if (hit !== undefined && hit.version === version) return hit.block
    const parts = data.all(id).map((found) => found.data as Uint8Array)
    const block = decodeBlocks(parts, span)
    if (block === undefined) return undefined
    blocks.set(id, { version, block })
    return block
  }

  const viewOf = (feed: number, span: number, instrument: string, found: Found): GroupView => {
    const block = readBlock(found.id, found.version, span)
    const keys: readonly [number, number][] = found.waiting
      ? tailKeys.all(found.id).map(({ ts, seq }) => [Number(ts), Number(seq)])
      : []
    if (block !== undefined && keys.length === 0) return blockView(feed, instrument, block)
    let rows: Map<string, BookRow> | undefined
    return mergedView(feed, instrument, block, keys, (ts, seq) => {
      rows ??= new Map(tail.all(found.id).map((row) => [`${row.ts}/${row.seq}`, tailRowOf(row)]))
      const row = rows.get(`${ts}/${seq}`)
      if (row === undefined) throw new Error(`the row of ${instrument} at ${ts} is missing`)
      return row
    })
  }

  const current = (): GroupReader => {
    const state = `${committed.get()?.data_version}/${own.get()?.n}`
    if (last?.state === state && last.views.size < MAX_KEPT_VIEWS) return last.reader
    const views = new Map<string, GroupView | undefined>()
    const remember = (
      feed: number,
      span: number,
      row: Record<string, unknown> | undefined,
      instrument: string,
    ) => {
      const key = `${feed}/${span}/${instrument}`
      if (!views.has(key)) {
        const found = row && {
          id: Number(row.id),
          version: Number(row.version),
          waiting: row.waiting === 1,
        }
        views.set(key, found && viewOf(feed, span, instrument, found))
      }
      return views.get(key)
    }
    const spans = new Map<string, GroupView[]>()
    const reader: GroupReader = {
      nearestSpan(feed, instrument, order, span) {
        const found =
          instrument === undefined
            ? nearest[order].all.get(feed, span)
            : nearest[order].one.get(feed, span, instrument)
        return typeof found?.span === 'number' ? found.span : undefined
      },
      *viewsInTurns(feed, span) {
        const key = `${feed}/${span}`
        const known = spans.get(key)
        if (known !== undefined) return known
        const list: GroupView[] = []
        for (const row of inSpan.all(feed, span)) {
          const view = remember(feed, span, row, String(row.instrument))
          if (view !== undefined) list.push(view)
          yield
        }
        spans.set(key, list)
        return list
      },
      view(feed, span, instrument) {
        const key = `${feed}/${span}/${instrument}`
        if (views.has(key)) return views.get(key)
        return remember(feed, span, one.get(feed, span, instrument), instrument)
      },
      instruments: (feed, fromSpan, toSpan) =>
        listed.all(feed, fromSpan, toSpan).map((row) => String(row.instrument)),
    }
    last = { state, reader, views }
    return reader
  }

  return {
    current,
    forgetLarge() {
      if (last !== undefined && last.views.size >= MAX_KEPT_VIEWS) last = undefined
    },
  }
}
