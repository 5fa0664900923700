import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawnSeed } from '../../../test/seeded-random.ts'
import type { Feed } from '../../core/feed.ts'
import type { BookInput } from '../../core/rows/book.ts'
import type { UpDownSnapshotInput } from '../../core/rows/snapshot.ts'
import { RowsRefusedError } from '../environment.ts'
import { type Engine, type Random, START, seeded, walk, withStore } from './engine.ts'

const feed: Feed<'snapshots'> = { dataset: 'snapshots', source: 'predmkt_a', symbol: 'BTC', interval: '5m' }
const hourly: Feed<'snapshots'> = { ...feed, interval: '1h' }
const SEED = drawnSeed()
/** Per market; more than lie between two marks of a block of books. */
const SAMPLES = process.env.TAPELINE_SOAK ? 400 : 110
/**
 * Rows are added after at most this many pages; otherwise a walk of one row per page ends only with all possible rows.
 */
const MAX_LATE_PAGES = 20
const MARKETS = 90
const RANGE = { from: START, to: START + 3_600_000, toInclusive: true }

type Level = [number, number]
interface BookJson {
  bids: Level[]
  asks: Level[]
}

/** Moves a few levels, as a live book does between two samples. */
function drift(random: Random, book: { bids: Level[]; asks: Level[] }): { bids: Level[]; asks: Level[] } {
  const side = (levels: Level[], low: number, high: number, direction: 1 | -1): Level[] => {
    const byPrice = new Map(levels)
    for (let i = 0; i < 1 + random.below(3); i++) {
      const price = (low + random.below(high - low)) / 100
      if (random.below(3) === 0) byPrice.delete(price)
      else byPrice.set(price, (1 + random.below(5000)) / 10)
    }
    return [...byPrice].sort((a, b) => (a[0] - b[0]) * direction)
  }
  return { bids: side(book.bids, 10, 50, -1), asks: side(book.asks, 50, 90, 1) }
}

type GivenSnapshot = UpDownSnapshotInput & { up: BookInput; down: BookInput }

function snapshot(marketId: string, time: number, up: BookInput, down: BookInput): GivenSnapshot {
  return {
    time,
    marketId,
    slug: `slug-${marketId}`,
    tokenUp: `${marketId}-up`,
    tokenDown: `${marketId}-down`,
    up,
    down,
  }
}

/** Samples of several markets with books that drift. */
export function drifting(random: Random, markets: readonly string[], samples: number, stepMs = 500) {
  const books = new Map(markets.map((id) => [id, { bids: [] as Level[], asks: [] as Level[] }]))
  const rows: GivenSnapshot[] = []
  for (let i = 0; i < samples; i++) {
    for (const id of markets) {
      const book = drift(random, books.get(id) ?? { bids: [], asks: [] })
      books.set(id, book)
      rows.push(
        snapshot(id, START + i * stepMs, book, { bids: book.bids.slice(1), asks: book.asks.slice(1) }),
      )
    }
  }
  return rows
}

function apply(book: BookJson, diffs: Record<string, Level[]>): BookJson {
  const side = (levels: Level[], removed: Level[] = [], added: Level[] = [], direction: 1 | -1) => {
    const gone = new Set(removed.map(String))
    const kept = levels.filter((level) => gone.delete(String(level)) === false)
    assert.equal(gone.size, 0, 'only levels that were there are removed')
    return [...kept, ...added].sort((a, b) => (a[0] - b[0]) * direction)
  }
  return {
    bids: side(book.bids, diffs.bids_removed, diffs.bids_added, -1),
    asks: side(book.asks, diffs.asks_removed, diffs.asks_added, 1),
  }
}

/** @param rounds of the walk over random rows */
export function snapshotSuite(engine: Engine, rounds: number): void {
  const it = (name: string, run: Parameters<typeof withStore>[1]) =>
    test(`${engine.name}: ${name}`, () => withStore(engine, run))

  it('books are read back as written, cut to the depth, in any order of ingestion', async (store) => {
    const random = seeded(99)
    const rows = drifting(random, ['0xa', '0xb', '0xc'], SAMPLES)
    const mixed = random.shuffle(rows)
    for (let i = 0; i < mixed.length; i += 100) {
      await store.write({ rows: [{ feed, rows: mixed.slice(i, i + 100) }] })
    }
    assert.equal((await store.write({ rows: [{ feed, rows }] })).unchanged, rows.length)
    for (const depth of [undefined, 1, 10]) {
      const texts = await walk(store, {
        feeds: [feed],
        range: RANGE,
        order: 'asc',
        limit: 97,
        books: { books: true, diffs: false, ...(depth === undefined ? {} : { depth }) },
      })
      assert.equal(texts.length, rows.length)
      for (const [i, text] of texts.entries()) {
        const row = JSON.parse(text)
        const given = rows[i] as GivenSnapshot
        assert.equal(row.market_id, given.marketId)
        const cut = (levels: BookInput['bids']) => levels.slice(0, depth)
        assert.deepEqual(row.orderbook_up, { bids: cut(given.up.bids), asks: cut(given.up.asks) })
        assert.deepEqual(row.orderbook_down, { bids: cut(given.down.bids), asks: cut(given.down.asks) })
      }
    }
    const light = await walk(store, { feeds: [feed], range: RANGE, order: 'asc', limit: 1000 })
    assert.ok(light.every((text) => !text.includes('orderbook')))
  })

  it('applying the diffs of consecutive rows to the first book gives every later one', async (store) => {
    const random = seeded(5)
    const rows = drifting(random, ['0xa', '0xb'], SAMPLES)
    await store.write({ rows: [{ feed, rows }] })
    for (const order of ['asc', 'desc'] as const) {
      for (const [depth, stepMs] of [
        [undefined, undefined],
        [5, undefined],
        [5, 5000],
      ]) {
        const texts = await walk(store, {
          feeds: [feed],
          range: RANGE,
          order,
          limit: 37,
          ...(stepMs === undefined ? {} : { stepMs }),
          books: { books: true, diffs: true, ...(depth === undefined ? {} : { depth }) },
        })
        const books = new Map<string, BookJson>()
        const parsed = texts.map((text) => JSON.parse(text))
        if (order === 'desc') parsed.reverse()
        for (const row of parsed) {
          const before = books.get(row.market_id)
          if (before === undefined) assert.equal(row.diffs, null)
          else assert.deepEqual(apply(before, row.diffs), row.orderbook_up)
          books.set(row.market_id, row.orderbook_up)
        }
        assert.equal(books.size, 2)
      }
    }
  })

  it('a sampled walk gives the last row of every step, per market, in both orders and any limit', async (store) => {
    const random = seeded(31)
    const times = new Map<string, number[]>()
    const empty = { bids: [], asks: [] }
    const rows: GivenSnapshot[] = []
    for (const id of ['0xa', '0xb', '0xc']) {
      const own: number[] = []
      for (let i = 0; i < 400; i++)
        if (random.below(4) === 0) own.push(START + i * 500 + (i > 200 ? 7_200_000 : 0))
      times.set(id, own)
      for (const time of own) rows.push(snapshot(id, time, empty, empty))
    }
    const half = rows.filter((row) => row.marketId !== '0xc')
    await store.write({
      rows: [
        { feed, rows: half },
        { feed: hourly, rows: rows.filter((row) => row.marketId === '0xc') },
      ],
    })
    for (const stepMs of [500, 1000, 5000, 300_000]) {
      for (const only of [undefined, ['0xb']]) {
        for (const order of ['asc', 'desc'] as const) {
          const range = { from: START + 20_000, to: START + 7_300_000, toInclusive: true }
          const expected: string[] = []
          for (const [id, own] of times) {
            if (only !== undefined && !only.includes(id)) continue
            const lasts = new Map<number, number>()
            for (const time of own) {
              if (time < range.from || time > range.to) continue
              lasts.set(Math.ceil(time / stepMs), time)
            }
            for (const time of lasts.values()) expected.push(`${time}/${id}`)
          }
          expected.sort((a, b) => (a < b ? -1 : 1) * (order === 'asc' ? 1 : -1))
          const texts = await walk(store, {
            feeds: [feed, hourly],
            range,
            order,
            limit: 1 + random.below(9),
            stepMs,
            ...(only === undefined ? {} : { filters: { instruments: only } }),
          })
          const got = texts.map((text) => {
            const row = JSON.parse(text)
            return `${Date.parse(row.timestamp)}/${row.market_id}`
          })
          assert.deepEqual(got, expected, `step ${stepMs} ${order} ${only}`)
        }
      }
    }
  })

  it('samples of many markets are the last rows of their steps, however long the steps are', async (store) => {
    const random = seeded(47)
    const empty = { bids: [], asks: [] }
    const ids = Array.from({ length: MARKETS }, (_, i) => `0x${i}`)
    // Some markets have rows all the time, others only in some minutes; the middle hour is empty.
    const rows = ids.flatMap((id, i) => {
      const begin = i % 3 === 0 ? 0 : random.below(9_000)
      const count = i % 3 === 0 ? 60 : 8
      const times = Array.from({ length: count }, () =>
        i % 3 === 0 ? random.below(10_800) : begin + random.below(120),
      )
      const kept = times.filter((second) => second <= 3_600 || second > 7_200)
      return [...new Set(kept)].map((second) => snapshot(id, START + second * 1_000, empty, empty))
    })
    await store.write({ rows: [{ feed, rows: random.shuffle(rows) }] })
    for (const stepMs of [1_000, 300_000, 600_000, 3_600_000, 86_400_000]) {
      for (const order of ['asc', 'desc'] as const) {
        const range = { from: START + 500_000, to: START + 10_000_000, toInclusive: true }
        const lasts = new Map<string, GivenSnapshot>()
        for (const row of rows) {
          const key = `${Math.ceil(row.time / stepMs)}/${row.marketId}`
          const isInside = row.time >= range.from && row.time <= range.to
          if (isInside && row.time > (lasts.get(key)?.time ?? 0)) lasts.set(key, row)
        }
        const sign = order === 'asc' ? 1 : -1
        const expected = [...lasts.values()]
          .sort((a, b) => (a.time - b.time || (a.marketId < b.marketId ? -1 : 1)) * sign)
          .map((row) => `${row.time}/${row.marketId}`)
        const query = { feeds: [feed], range, order, stepMs }
        const got = (await walk(store, { ...query, limit: 29 + random.below(400) })).map((text) => {
          const row = JSON.parse(text)
          return `${Date.parse(row.timestamp)}/${row.market_id}`
        })
        assert.deepEqual(got, expected, `step ${stepMs} ${order}`)
        assert.equal(await store.series.count({ ...query, limit: 10_000 }), expected.length)
      }
    }
  })

  it('a corrected book is a revision, also when the light row stays the same', async (store) => {
    const book = (size: number): BookInput => ({
      bids: [[0.4, 10]],
      asks: [
        [0.6, 10],
        [0.7, size],
      ],
    })
    const other = (size: number): BookInput => ({ bids: [[0.4, 10]], asks: [[0.6, 10 + size / 1000]] })
    const put = (down: BookInput) =>
      store.write({ rows: [{ feed, rows: [snapshot('0xa', START, book(1), down)] }] })
    await put(other(1))
    assert.equal((await put(other(2))).corrected, 1)
    const found = await store.series.at({ feeds: [feed], time: START, books: { books: true, diffs: false } })
    assert.deepEqual(JSON.parse(found?.text ?? '').orderbook_down.asks, [[0.6, 10.002]])
    assert.equal((await store.series.revisions({ feeds: [feed], range: RANGE, limit: 5 })).length, 1)
  })

  it(`a walk of snapshots gives every row once and in order (seed ${SEED}): ties, filters, both orders, late rows`, async (store) => {
    const random = seeded(SEED)
    const ids = ['0xa', '0xb', 'é', '𝒳', 'zz']
    const spanMs = 45 * 60_000
    const known = new Map<string, { row: UpDownSnapshotInput; feed: Feed<'snapshots'> }>()
    const insert = async (count: number) => {
      const fresh: { row: UpDownSnapshotInput; feed: Feed<'snapshots'> }[] = []
      for (let i = 0; i < count; i++) {
        // Few times, so that most rows tie with others, spread over several spans of any engine.
        const time = START + random.below(12) * 500 + random.below(10) * (spanMs / 10)
        const id = random.pick(ids)
        if (known.has(`${time}/${id}`)) continue
        const book = drift(random, { bids: [], asks: [] })
        const one = { row: snapshot(id, time, book, book), feed: id === '0xa' ? feed : hourly }
        known.set(`${time}/${id}`, one)
        fresh.push(one)
      }
      await store.write({ rows: fresh.map((one) => ({ feed: one.feed, rows: [one.row] })) })
    }
    await insert(400)
    const bytes = (text: string) => Buffer.from(text)
    for (let round = 0; round < rounds; round++) {
      const order = random.pick(['asc', 'desc'] as const)
      const from = START + random.below(spanMs)
      const range = { from, to: from + random.below(spanMs), toInclusive: random.below(2) === 0 }
      const only = random.below(2) === 0 ? undefined : random.shuffle(ids).slice(0, 1 + random.below(3))
      const wanted = () =>
        [...known.values()]
          .filter(({ row: { time, marketId } }) => {
            const isInside = time >= range.from && (range.toInclusive ? time <= range.to : time < range.to)
            return isInside && (only === undefined || only.includes(marketId))
          })
          .sort(
            ({ row: a }, { row: b }) =>
              (a.time - b.time || Buffer.compare(bytes(a.marketId), bytes(b.marketId))) *
              (order === 'asc' ? 1 : -1),
          )
          .map(({ row: { time, marketId } }) => `${time}/${marketId}`)
      const filters = only === undefined ? {} : { filters: { instruments: only } }
      const present = wanted()
      const query = { feeds: [hourly, feed], range, order, limit: 1 + random.below(20), ...filters }
      const isLate = round % 3 === 0
      let pages = 0
      const texts = await walk(store, query, async () => {
        if (isLate && ++pages <= MAX_LATE_PAGES) await insert(2)
      })
      const got = texts.map((text) => {
        const row = JSON.parse(text)
        return `${Date.parse(row.timestamp)}/${row.market_id}`
      })
      const seen = new Set(got)
      assert.equal(seen.size, got.length, 'no row twice')
      assert.deepEqual(
        got,
        wanted().filter((key) => seen.has(key)),
      )
      for (const key of present) assert.ok(seen.has(key), `row ${key} is missing in round ${round}`)
      assert.equal(await store.series.count({ ...query, limit: 10_000 }), wanted().length)
    }
    const times = [...known.values()].filter((one) => one.feed === feed).map(({ row }) => row.time)
    const info = (await store.series.feeds({ dataset: 'snapshots', interval: '5m' }))[0]
    assert.deepEqual([info?.firstTs, info?.lastTs], [Math.min(...times), Math.max(...times)])
    const at = await store.series.at({ feeds: [feed, hourly], time: START + spanMs / 2, instrument: 'zz' })
    const before = [...known.keys()]
      .map((key) => key.split('/'))
      .filter(([time, id]) => id === 'zz' && Number(time) <= START + spanMs / 2)
    assert.equal(at?.position.ts, Math.max(...before.map(([time]) => Number(time))))
  })

  it('a row can be corrected long after it was written, and the same row again changes nothing', async (store, opened, clock) => {
    const rows = drifting(seeded(12), ['0xa', '0xb'], 800, 2_000)
    await store.write({ rows: [{ feed, rows }] })
    clock.advance(1_000)
    const old = rows[1_000] as UpDownSnapshotInput
    const [before] = await walk(store, {
      feeds: [feed],
      range: { from: old.time, to: old.time + 1 },
      order: 'asc',
      limit: 10,
      filters: { instruments: [old.marketId] },
      books: { books: true, diffs: false },
    })
    const other = { ...old, up: { bids: [[0.2, 7]], asks: [[0.8, 7]] } } as UpDownSnapshotInput
    assert.equal((await store.write({ rows: [{ feed, rows: [other] }] })).corrected, 1)
    clock.advance(1_000)
    const again = await opened.reopen()
    assert.equal((await again.write({ rows: [{ feed, rows: [other] }] })).unchanged, 1)
    assert.equal((await again.write({ rows: [{ feed, rows: [old] }] })).corrected, 1)
    const revisions = await again.series.revisions({ feeds: [feed], range: RANGE, limit: 5 })
    assert.deepEqual(
      revisions.map((r) => [r.revision, r.recordedAt - START, r.supersededAt - START]),
      [
        [1, 0, 1000],
        [2, 1000, 2000],
      ],
    )
    assert.equal(revisions[0]?.text, before)
    const next = drifting(seeded(13), ['0xa'], 1)[0] as UpDownSnapshotInput
    await again.write({ rows: [{ feed, rows: [{ ...next, time: START + 5 * 3_600_000 }] }] })
    assert.equal((await again.write({ rows: [{ feed, rows }] })).unchanged, rows.length)
  })

  it('a level that is not a whole number of millionths is refused', async (store) => {
    const book = (price: string, size: string): BookInput => ({ bids: [[price, size]], asks: [] })
    const put = (up: BookInput) => store.write({ rows: [{ feed, rows: [snapshot('0xa', START, up, up)] }] })
    await assert.rejects(put(book('0.1234567', '1')), RowsRefusedError)
    await assert.rejects(put(book('0.5', '1.0000001')), RowsRefusedError)
    await assert.rejects(put(book('0.5', '1000000000')), RowsRefusedError)
    assert.equal((await put(book('0.123456', '999999999.123456'))).inserted, 1)
    const found = await store.series.at({ feeds: [feed], time: START, books: { books: true, diffs: false } })
    assert.match(found?.text ?? '', /\[\[0.123456,999999999.123456\]\]/)
  })
}
