/**
 * Reads groups of rows for the walks of store/books/, which ask for one thing after another and cannot await. Every
 * answer comes from memory; whatever is missing is noted, loaded all at once, and the walk runs again:
 *
 *   run the walk ──nothing was missing──▶ its result
 *    ▲        └──noted what is missing──▶ load it ──┐
 *    └──────────────────────────────────────────────┘
 *
 * Loaded groups stay until the walk has ended and nothing is loaded twice, so every round takes the walk further. All
 * reads use one snapshot. Unpacked blocks are cached from page to page, one version of each.
 */
import { Lru } from '../../kit/lru.ts'
import { type BookBlock, decodeBlocks } from '../books/block.ts'
import type { BookRow } from '../books/book-row.ts'
import {
  blockView,
  type GroupReader,
  type GroupView,
  lowerBound,
  mergedView,
  tailRowOf,
} from '../books/group.ts'
import type { Arm } from '../order/arms.ts'
import { type RestingWork, workInTurns } from '../rows/work-in-turns.ts'
import { arrayOf, lines, linesOf } from './columns.ts'
import { type Queries, type Statement, statement } from './database.ts'

interface Group {
  readonly feed: number
  readonly span: number
  readonly instrument: string
  readonly version: number
  readonly blocks: number
  /** The keys of its tail rows as JSON; null without a tail. */
  readonly keys: string | null
}

type Order = 'asc' | 'desc'

/** How many groups the first listing requests, and how many any listing requests at most. */
const FIRST_LISTED = 64
const MAX_LISTED = 1_024
/** At most this many groups are loaded ahead of a walk, because it may end before it reaches them. */
const MAX_LOADED_AHEAD = 64

/**
 * The inner condition repeats the feed's id, because from `g.feed_id` Citus does not know that one server has all rows:
 * it would ask every server and then lose WITH TIES.
 */
const COLUMNS = `feed_id AS feed, span, instrument, version, blocks,
    CASE WHEN waiting THEN (
      SELECT json_agg(json_build_array(t.ts, t.seq) ORDER BY t.ts, t.seq)::text FROM book_tail t
        WHERE t.feed_id = $1 AND t.span = g.span AND t.instrument = g.instrument) END AS keys`
/** WITH TIES adds the other groups of the last span, so that a span is listed whole or not at all. */
const listOf = (order: Order, ofInstrument: boolean): Statement =>
  statement(
    `groups_${order}${ofInstrument ? '_i' : ''}`,
    `SELECT ${COLUMNS} FROM book_groups g WHERE feed_id = $1 AND span ${order === 'asc' ? '>=' : '<='} $2
      ${ofInstrument ? 'AND instrument = $4' : ''} ORDER BY span${order === 'asc' ? '' : ' DESC'}
      FETCH FIRST $3 ROWS WITH TIES`,
  )
const LISTS = {
  asc: { feed: listOf('asc', false), instrument: listOf('asc', true) },
  desc: { feed: listOf('desc', false), instrument: listOf('desc', true) },
}
/** The groups in the parameters from `groupKeys`, and the condition that joins a table to them. */
export const KEYS = `unnest($1::bigint[], $2::bigint[], ${lines('$3')}) AS k (feed_id, span, instrument)`
export const ON_KEY = (table: string) =>
  `${table}.feed_id = k.feed_id AND ${table}.span = k.span AND ${table}.instrument = coalesce(k.instrument, '')`
export const READ_BLOCKS = statement(
  'blocks',
  `SELECT b.feed_id AS feed, b.span, b.instrument, b.data FROM ${KEYS} JOIN book_blocks b ON ${ON_KEY('b')}
    WHERE b.span BETWEEN $4::bigint AND $5::bigint ORDER BY b.part`,
)
/** Tail rows by their full keys. */
export const TAIL_ROWS = statement(
  'tail_rows',
  `SELECT t.feed_id AS feed, t.span, t.instrument, t.ts, t.seq, t.recorded_at, t.text, t.sides
    FROM unnest($1::bigint[], $2::bigint[], ${lines('$3')}, $4::bigint[], $5::bigint[])
        AS k (feed_id, span, instrument, ts, seq)
      JOIN book_tail t ON ${ON_KEY('t')} AND t.ts = k.ts AND t.seq = k.seq`,
)

export interface GroupKey {
  readonly feed: number
  readonly span: number
  readonly instrument: string
}

export const nameOfGroup = ({ feed, span, instrument }: GroupKey) => `${feed}/${span}/${instrument}`

/** The parameters that `KEYS` reads. */
export function groupKeys(groups: readonly GroupKey[]): string[] {
  return [
    arrayOf(groups.map(({ feed }) => feed)),
    arrayOf(groups.map(({ span }) => span)),
    linesOf(groups.map(({ instrument }) => instrument)),
  ]
}

export function spanBounds(groups: readonly GroupKey[]): [number, number] {
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { span } of groups) {
    first = Math.min(first, span)
    last = Math.max(last, span)
  }
  return [first, last]
}

export type BlockCache = Lru<string, { version: number; block: BookBlock }>

export function blockCache(maxBytes: number): BlockCache {
  return new Lru({ maxEntries: 10_000, maxWeight: maxBytes, weigh: ({ block }) => block.bytes })
}

/** Thrown when a walk cannot continue before more is loaded. */
class MissingGroups extends Error {}

interface ListRequest {
  readonly feed: number
  readonly instrument: string | undefined
  readonly order: Order
  readonly span: number
}

export class LoadedGroups implements GroupReader {
  readonly #arms: readonly Arm[]
  readonly #order: Order
  readonly #cache: BlockCache
  readonly #holdMs: number
  readonly #listings = new Map<string, Listing>()
  readonly #blocks = new Map<string, BookBlock>()
  readonly #tailRows = new Map<string, Map<string, BookRow>>()
  readonly #views = new Map<string, GroupView>()
  #lists = new Map<string, ListRequest>()
  #wanted = new Map<string, Group>()
  #wantedRows = new Map<string, { group: Group; ts: number; seq: number }>()
  #listed = FIRST_LISTED
  #spansAhead = 1
  #isWalking = true

  constructor(
    arms: readonly Arm[],
    {
      order,
      startSpan,
      cache,
      holdMs,
    }: { order: Order; startSpan: number; cache: BlockCache; holdMs: number },
  ) {
    this.#arms = arms
    this.#order = order
    this.#cache = cache
    this.#holdMs = holdMs
    for (const { feed, instrument } of arms) this.#list({ feed, instrument, order, span: startSpan })
  }

  /** Loads the listings that a walk begins with. */
  async begin(tx: Queries): Promise<void> {
    if (this.#needsMore()) await this.#load(tx)
  }

  /**
   * Runs `walk` and then `read` until neither needs more. `walk` stops at the first missing group; `read`, which looks
   * up single rows, goes on, so that everything it needs is loaded together.
   */
  async run<W, R>(tx: Queries, walk: () => RestingWork<W>, read: (found: W) => RestingWork<R>): Promise<R> {
    for (;;) {
      if (this.#needsMore()) await this.#load(tx)
      try {
        this.#isWalking = true
        const found = await workInTurns(walk(), this.#holdMs)
        if (this.#needsMore()) continue
        this.#isWalking = false
        const result = await workInTurns(read(found), this.#holdMs)
        if (!this.#needsMore()) return result
      } catch (error) {
        if (!(error instanceof MissingGroups)) throw error
      }
    }
  }

  nearestSpan(feed: number, instrument: string | undefined, order: Order, span: number): number | undefined {
    let from = span
    const names =
      instrument === undefined ? [listingName(feed)] : [listingName(feed), listingName(feed, instrument)]
    for (const name of names) {
      const listing = this.#listings.get(name)
      if (listing === undefined || !listing.contains(from)) continue
      const found = listing.nearest(instrument, order, from)
      if (found !== undefined) return found
      from = listing.beyond(from, order)
      if (!Number.isFinite(from)) return undefined
    }
    this.#list({ feed, instrument, order, span: from })
    return undefined
  }

  *viewsInTurns(feed: number, span: number): RestingWork<GroupView[]> {
    const listing = this.#listings.get(listingName(feed))
    if (listing === undefined || !listing.contains(span)) {
      this.#list({ feed, instrument: undefined, order: 'asc', span })
      throw new MissingGroups()
    }
    const views: GroupView[] = []
    for (const group of listing.inSpan(span)) {
      views.push(this.#viewOf(group))
      yield
    }
    return views
  }

  view(feed: number, span: number, instrument: string): GroupView | undefined {
    for (const name of [listingName(feed), listingName(feed, instrument)]) {
      const listing = this.#listings.get(name)
      if (listing === undefined || !listing.contains(span)) continue
      const group = listing.inSpan(span).find((each) => each.instrument === instrument)
      return group === undefined ? undefined : this.#viewOf(group)
    }
    this.#list({ feed, instrument, order: 'asc', span })
    if (this.#isWalking) throw new MissingGroups()
    return undefined
  }

  instruments(feed: number, fromSpan: number, toSpan: number): string[] {
    const listing = this.#listings.get(listingName(feed))
    if (listing?.contains(fromSpan)) {
      const beyond = listing.beyond(fromSpan, 'asc')
      if (toSpan < beyond) return listing.instruments(fromSpan, toSpan)
      this.#list({ feed, instrument: undefined, order: 'asc', span: beyond })
    } else if (listing?.contains(toSpan)) {
      this.#list({ feed, instrument: undefined, order: 'desc', span: listing.beyond(toSpan, 'desc') })
    } else this.#list({ feed, instrument: undefined, order: 'asc', span: fromSpan })
    throw new MissingGroups()
  }

  #viewOf(group: Group): GroupView {
    const name = nameOfGroup(group)
    const known = this.#views.get(name)
    if (known !== undefined) return known
    const { feed, instrument } = group
    const block = this.#blockOf(group)
    if (group.blocks > 0 && block === undefined) {
      this.#wanted.set(name, group)
      if (!this.#isWalking) return standIn(group)
      this.#wantAhead(group.span)
      throw new MissingGroups()
    }
    const keys: [number, number][] = group.keys === null ? [] : JSON.parse(group.keys)
    const view =
      block !== undefined && keys.length === 0
        ? blockView(feed, instrument, block)
        : mergedView(feed, instrument, block, keys, (ts, seq) => this.#tailRow(group, ts, seq))
    this.#views.set(name, view)
    return view
  }

  #blockOf(group: Group): BookBlock | undefined {
    const name = nameOfGroup(group)
    const loaded = this.#blocks.get(name)
    if (loaded !== undefined || group.blocks === 0) return loaded
    const cached = this.#cache.get(name)
    if (cached?.version !== group.version) return undefined
    this.#blocks.set(name, cached.block)
    return cached.block
  }

  #tailRow(group: Group, ts: number, seq: number): BookRow {
    const row = this.#tailRows.get(nameOfGroup(group))?.get(`${ts}/${seq}`)
    if (row !== undefined) return row
    this.#wantedRows.set(`${nameOfGroup(group)}/${ts}/${seq}`, { group, ts, seq })
    return NO_ROW
  }

  #needsMore(): boolean {
    return this.#lists.size > 0 || this.#wanted.size > 0 || this.#wantedRows.size > 0
  }

  /** Keeps only the first request per listing: later ones were made without its answer and mostly lie far beyond it. */
  #list(request: ListRequest): void {
    const name = listingName(request.feed, request.instrument)
    if (this.#listings.get(name)?.contains(request.span))
      throw new Error(`span ${request.span} of ${name} is listed and was asked for again`)
    if (!this.#lists.has(name)) this.#lists.set(name, request)
  }

  /** Requests the groups of a span and of the spans after it, twice as many spans each time. */
  #wantAhead(span: number): void {
    const ahead = this.#arms
      .flatMap(({ feed, instrument }) => {
        const listing =
          this.#listings.get(listingName(feed)) ?? this.#listings.get(listingName(feed, instrument))
        const groups = listing?.from(span, this.#order, this.#spansAhead) ?? []
        return instrument === undefined ? groups : groups.filter((group) => group.instrument === instrument)
      })
      .filter((group) => !this.#isLoaded(group))
    for (const group of ahead)
      if (group.span === span || this.#wanted.size < MAX_LOADED_AHEAD)
        this.#wanted.set(nameOfGroup(group), group)
    this.#spansAhead *= 2
  }

  #isLoaded(group: Group): boolean {
    return group.blocks === 0 || this.#blockOf(group) !== undefined
  }

  async #load(tx: Queries): Promise<void> {
    const [lists, wanted, rows] = [
      [...this.#lists.values()],
      [...this.#wanted.values()],
      [...this.#wantedRows.values()],
    ]
    this.#lists = new Map()
    this.#wanted = new Map()
    this.#wantedRows = new Map()
    await Promise.all([
      ...lists.map((request) => this.#loadList(tx, request)),
      this.#loadBlocks(
        tx,
        wanted.filter((group) => !this.#isLoaded(group)),
      ),
      this.#loadTailRows(tx, rows),
    ])
    this.#listed = Math.min(2 * this.#listed, MAX_LISTED)
  }

  async #loadList(tx: Queries, { feed, instrument, order, span }: ListRequest): Promise<void> {
    // A walk continues from here; a lookup of a single row needs only the nearest group.
    const limit = this.#isWalking ? this.#listed : 1
    const groups =
      instrument === undefined
        ? await tx.rows<Group>(LISTS[order].feed, [feed, span, limit])
        : await tx.rows<Group>(LISTS[order].instrument, [feed, span, limit, instrument])
    const name = listingName(feed, instrument)
    const listing = this.#listings.get(name) ?? new Listing()
    this.#listings.set(name, listing)
    listing.add(groups, order, span, groups.length < limit)
  }

  async #loadBlocks(tx: Queries, groups: readonly Group[]): Promise<void> {
    if (groups.length === 0) return
    const rows = await tx.rows<GroupKey & { data: Buffer }>(READ_BLOCKS, [
      ...groupKeys(groups),
      ...spanBounds(groups),
    ])
    await workInTurns(this.#unpack(groups, Map.groupBy(rows, nameOfGroup)), this.#holdMs)
  }

  *#unpack(
    groups: readonly Group[],
    parts: ReadonlyMap<string, readonly { data: Buffer }[]>,
  ): RestingWork<undefined> {
    for (const group of groups) {
      const name = nameOfGroup(group)
      const data = parts.get(name)?.map((row) => row.data) ?? []
      const block = decodeBlocks(data, group.span)
      if (block === undefined)
        throw new Error(`the blocks of ${group.instrument} in span ${group.span} are missing`)
      this.#blocks.set(name, block)
      this.#cache.set(name, { version: group.version, block })
      yield
    }
    return undefined
  }

  async #loadTailRows(
    tx: Queries,
    wanted: readonly { group: Group; ts: number; seq: number }[],
  ): Promise<void> {
    if (wanted.length === 0) return
    const rows = await tx.rows<GroupKey & { ts: number; seq: number }>(TAIL_ROWS, [
      ...groupKeys(wanted.map(({ group }) => group)),
      arrayOf(wanted.map(({ ts }) => ts)),
      arrayOf(wanted.map(({ seq }) => seq)),
    ])
    if (rows.length !== wanted.length) throw new Error('rows of a tail are missing')
    for (const row of rows) {
      const name = nameOfGroup(row)
      const own = this.#tailRows.get(name) ?? new Map<string, BookRow>()
      this.#tailRows.set(name, own.set(`${row.ts}/${row.seq}`, tailRowOf({ ...row })))
      // Anything derived from the view while rows were missing must not be reused.
      this.#views.delete(name)
    }
  }
}

const listingName = (feed: number, instrument?: string) =>
  instrument === undefined ? `${feed}` : `${feed}/${instrument}`

const NO_ROW: BookRow = { ts: 0, seq: 0, recordedAt: 0, text: '{}', sides: [] }

/** Stands in for a group that is not loaded. Its single row ends the search, whose result is discarded. */
function standIn({ feed, instrument }: Group): GroupView {
  const rows: GroupView['rows'] = (indexes) => indexes.map(() => NO_ROW)
  return { feed, instrument, ts: [0], seq: [0], load: () => undefined, rows }
}

/** The known groups of a feed or of one instrument; complete within each listed interval of spans. */
class Listing {
  /** Sorted; no two intervals touch. */
  #intervals: { low: number; high: number }[] = []
  #spans: number[] = []
  readonly #groups = new Map<number, readonly Group[]>()

  contains(span: number): boolean {
    return this.#around(span) !== undefined
  }

  /** The first span past the interval around `span`, in the given order. */
  beyond(span: number, order: Order): number {
    const { low, high } = this.#around(span) ?? { low: span, high: span }
    return order === 'asc' ? high + 1 : low - 1
  }

  /** Adds groups listed from `span` on in the given order; `isAll` if no others follow them. */
  add(groups: readonly Group[], order: Order, span: number, isAll: boolean): void {
    const end = isAll
      ? order === 'asc'
        ? Number.POSITIVE_INFINITY
        : Number.NEGATIVE_INFINITY
      : (groups.at(-1)?.span ?? span)
    let [low, high] = order === 'asc' ? [span, end] : [end, span]
    const apart: { low: number; high: number }[] = []
    for (const each of this.#intervals) {
      if (each.high + 1 < low || high + 1 < each.low) apart.push(each)
      else [low, high] = [Math.min(low, each.low), Math.max(high, each.high)]
    }
    this.#intervals = [...apart, { low, high }].sort((a, b) => a.low - b.low)
    for (const [each, own] of Map.groupBy(groups, (group) => group.span)) this.#groups.set(each, own)
    this.#spans = [...this.#groups.keys()].sort((a, b) => a - b)
  }

  inSpan(span: number): readonly Group[] {
    return this.#groups.get(span) ?? []
  }

  /** Searches only the interval around `span`, because groups between two intervals are unknown. */
  nearest(instrument: string | undefined, order: Order, span: number): number | undefined {
    const { low, high } = this.#around(span) ?? { low: span, high: span }
    const has = (each: number) =>
      instrument === undefined || this.inSpan(each).some((group) => group.instrument === instrument)
    const step = order === 'asc' ? 1 : -1
    // A walk over thousands of spans asks once for each, so the search must not start at the first span every time.
    for (let at = lowerBound(this.#spans, order === 'asc' ? span : span + 1) - (1 - step) / 2; ; at += step) {
      const each = this.#spans[at]
      if (each === undefined || each < low || each > high) return undefined
      if (has(each)) return each
    }
  }

  instruments(from: number, to: number): string[] {
    const spans = this.#spans.filter((span) => span >= from && span <= to)
    return [...new Set(spans.flatMap((span) => this.inSpan(span).map(({ instrument }) => instrument)))]
  }

  /** The groups of the first `spans` spans from `span` on. */
  from(span: number, order: Order, spans: number): Group[] {
    const ordered = order === 'asc' ? this.#spans : this.#spans.toReversed()
    return ordered
      .filter((each) => (order === 'asc' ? each >= span : each <= span))
      .slice(0, spans)
      .flatMap((each) => this.inSpan(each))
  }

  #around(span: number): { low: number; high: number } | undefined {
    return this.#intervals.find(({ low, high }) => low <= span && span <= high)
  }
}
