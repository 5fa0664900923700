import type { DatabaseSync } from 'node:sqlite'
import { DATASETS, type Dataset, type Feed } from '../../core/feed.ts'
import { BOOK_FIELDS } from '../../core/rows/snapshot.ts'
import type { Clock } from '../../kit/clock.ts'
import type { AppendResult, Page, PageQuery, SeriesQuery, SeriesStore, Tally } from '../series.ts'
import { bookReader } from './books-read.ts'
import type { Writer } from './environment-writer.ts'
import { armsOf } from './series-arms.ts'
import { encodeBatch } from './series-encode.ts'
import type { FeedLookup } from './series-lookup.ts'
import type { PackedRows } from './series-packed.ts'
import { EMPTY_PAGE, oneStateOf, pageReader, type StoredRow } from './series-page.ts'
import { sampleReader } from './series-sample.ts'
import { statementCache } from './series-statements.ts'

export function sqliteSeries(parts: {
  database: DatabaseSync
  lookup: FeedLookup
  writer: Writer
  clock: Clock
  holdMs: number
}): SeriesStore {
  const { database, lookup, writer, clock, holdMs } = parts
  const oneState = oneStateOf(database)
  const pages = pageReader(statementCache(database), oneState)
  const samples = sampleReader(database)
  const books = bookReader(database)
  const tally = Object.fromEntries(
    DATASETS.map((dataset) => [
      dataset,
      { inserted: 0, unchanged: 0, rewritten: 0, corrected: 0, refused: 0 },
    ]),
  ) as Record<Dataset, Tally>
  /** Appends are handed to the writer in the order of their calls. */
  let turn: Promise<unknown> = Promise.resolve()

  const write = async (rows: PackedRows[], result: AppendResult) => {
    const weight = rows.reduce((sum, packed) => sum + packed.count, 0)
    const counts = await writer.send({ kind: 'append', rows, recordedAt: clock.now() }, weight)
    for (const [i, count] of counts.entries()) {
      const dataset = rows[i]?.feed.dataset
      if (dataset === undefined) continue
      for (const outcome of ['inserted', 'unchanged', 'rewritten', 'corrected'] as const) {
        result[outcome] += count[outcome]
        tally[dataset][outcome] += count[outcome]
      }
    }
  }

  const append: SeriesStore['append'] = async (batch, options = {}) => {
    const mode = options.refused ?? 'throw'
    const result: AppendResult = { inserted: 0, unchanged: 0, rewritten: 0, corrected: 0, refused: [] }
    const handedOver = turn.then(async () => {
      const encoded = await encodeBatch(batch, mode, holdMs)
      for (const { feed } of encoded.refused) tally[feed.dataset].refused++
      const [first] = encoded.refused
      if (first !== undefined && mode === 'throw') throw first.error
      result.refused = encoded.refused
      const sent: Promise<void>[] = []
      for (const rows of encoded.transactions) {
        await writer.ready()
        const written = write(rows, result)
        written.catch(() => undefined)
        sent.push(written)
      }
      return sent
    })
    turn = handedOver.catch(() => undefined)
    await Promise.all(await handedOver)
    return result
  }

  const rowsOf = (query: SeriesQuery, limit: number): StoredRow[] => {
    const arms = armsOf(query, lookup.id)
    if (arms.length === 0 || limit < 1) return []
    if (query.stepMs === undefined) return pages.rows(arms, query, limit)
    if (query.feeds.some((feed) => feed.dataset !== 'snapshots'))
      throw new RangeError('only snapshots are sampled')
    return samples.rows(arms, { ...query, stepMs: query.stepMs }, limit)
  }

  const composed = (query: PageQuery): Page => {
    const found = rowsOf(query, query.limit + 1)
    const rows = found.slice(0, query.limit)
    const texts = books.texts(rows, query.books, query.stepMs)
    return {
      text: texts.join(query.separator),
      count: rows.length,
      hasMore: found.length > query.limit,
      last: rows.at(-1)?.position,
      firstTs: rows[0]?.position.ts,
      lastTs: rows.at(-1)?.position.ts,
    }
  }

  return {
    append,
    async page(query) {
      if (query.stepMs !== undefined || query.feeds.some(keepsBooks)) {
        return oneState(() => composed(query))
      }
      const arms = armsOf(query, lookup.id)
      return arms.length === 0 || query.limit < 1 ? EMPTY_PAGE : pages.text(arms, query)
    },
    async count(query) {
      if (query.stepMs !== undefined) return rowsOf(query, query.limit).length
      const arms = armsOf(query, lookup.id)
      return arms.length === 0 || query.limit < 1 ? 0 : pages.count(arms, query)
    },
    async at({ feeds, time, notBefore, instrument, books: request }) {
      const range = { from: notBefore ?? 0, to: time, toInclusive: true }
      const filters = instrument === undefined ? {} : { instruments: [instrument] }
      return oneState(() => {
        const rows = rowsOf({ feeds, range, order: 'desc', limit: 1, filters }, 1)
        const [row] = rows
        if (row === undefined) return undefined
        return { position: row.position, text: books.texts(rows, request, undefined)[0] ?? '' }
      })
    },
    earliest: async (filter) => lookup.earliest(filter),
    feeds: async (filter) => lookup.feeds(filter),
    finality: async (feeds) => lookup.finality(feeds),
    revisions: async (query) => lookup.revisions(query),
    async finalize(feed, before) {
      await writer.send({ kind: 'finalize', feed, before }, 1)
    },
    async retain(filter, olderThan) {
      let deleted = 0
      for (const { feed } of lookup.feeds(filter)) {
        for (let more = true; more; ) {
          const step = await writer.send({ kind: 'retain', feed, olderThan }, 1)
          deleted += step.deleted
          more = step.more
        }
      }
      return deleted
    },
    tally: () => structuredClone(tally),
  }
}

/** Rows of such a feed lie with their books. */
function keepsBooks(feed: Feed): boolean {
  return feed.dataset === 'snapshots' && BOOK_FIELDS[feed.source] !== undefined
}
