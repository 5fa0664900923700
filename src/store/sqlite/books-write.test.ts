import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeSnapshot } from '../../core/rows/snapshot.ts'
import { spanOf } from '../books/block.ts'
import { NO_BOOKS, packSides } from '../books/pack-sides.ts'
import { START, seeded } from '../conformance/engine.ts'
import { drifting } from '../conformance/snapshots.ts'
import { blockCache } from './block-cache.ts'
import { groupReaders } from './books-groups.ts'
import { BookWriter } from './books-write.ts'
import { ENVIRONMENT_MIGRATIONS } from './environment-schema.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'

const FEED = 1
const NAME = '0xa'
const feed = { dataset: 'snapshots', source: 'predmkt_a', symbol: 'BTC', interval: '5m' } as const

function rowsOf(samples: number, stepMs: number) {
  return drifting(seeded(5), [NAME], samples, stepMs).map((input) => {
    const { ts, seq, text, books = NO_BOOKS } = encodeSnapshot(feed, input)
    return { ts, seq, text, packed: packSides(books) }
  })
}

function opened() {
  const database = openDatabase({ file: ':memory:' })
  migrate(database, 'environment', ENVIRONMENT_MIGRATIONS)
  const writer = new BookWriter(database)
  const count = (table: string) => Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n)
  return {
    write(row: ReturnType<typeof rowsOf>[number]) {
      const outcome = writer.put(FEED, NAME, row, row.ts + 500)
      writer.fold(FEED, 4)
      return outcome.kind
    },
    forget: () => writer.forget(),
    blocks: () => count('book_blocks'),
    tailRows: () => count('book_tail'),
    waiting: () => count('book_groups WHERE waiting = 1'),
    texts() {
      const view = groupReaders(database, blockCache(1e6)).current().view(FEED, spanOf(START), NAME)
      return view?.rows([...view.ts.keys()]).map(({ text }) => text) ?? []
    },
  }
}

test('a slow tail is packed at 32 rows, a fast one at 128 or after a minute, each into a block that stays', () => {
  for (const { stepMs, rowsPerBlock } of [
    { stepMs: 5_000, rowsPerBlock: 32 },
    { stepMs: 500, rowsPerBlock: 121 },
    { stepMs: 100, rowsPerBlock: 128 },
  ]) {
    const books = opened()
    const given = rowsOf(2 * rowsPerBlock - 1, 500)
    const rows = given.map((row, i) => ({ ...row, ts: START + i * stepMs }))
    for (const [i, row] of rows.entries()) {
      assert.equal(books.write(row), 'inserted')
      assert.equal(books.blocks(), Math.floor((i + 1) / rowsPerBlock), `${stepMs} ms, row ${i}`)
    }
    assert.deepEqual(
      books.texts(),
      rows.map(({ text }) => text),
    )
  }
})

test('rows that arrive after their span do not leave a block each', () => {
  const books = opened()
  const rows = rowsOf(120, 4_000)
  const [early, late] = [rows.slice(0, 70), rows.slice(70)]
  const next = { ...(rows[0] as (typeof rows)[number]), ts: START + 600_000 }
  for (const row of [...early, next]) books.write(row)
  assert.equal(books.blocks(), 3)
  for (const row of late) {
    assert.equal(books.write(row), 'inserted')
    books.write({ ...next, ts: next.ts + row.ts - START })
    assert.equal(books.write(row), 'unchanged')
  }
  assert.ok(books.blocks() <= 5, `${books.blocks()} blocks`)
  assert.deepEqual(
    books.texts(),
    rows.map(({ text }) => text),
  )
})

test('rows that belong before others, and corrections, are packed into one block with them', () => {
  const books = opened()
  const rows = rowsOf(150, 3_000)
  const shuffled = rows.filter((_, i) => i % 5 > 0).concat(rows.filter((_, i) => i % 5 === 0).reverse())
  for (const [i, row] of shuffled.entries()) {
    assert.equal(books.write(row), 'inserted')
    // The cache of groups may be dropped at any time.
    if (i % 11 === 0) books.forget()
  }
  const corrected = rows.map((row, i) =>
    i % 50 === 7 ? { ...row, text: row.text.replace('"slug-0xa"', '"slug-0xb"') } : row,
  )
  for (const [i, row] of corrected.entries())
    assert.equal(books.write(row), i % 50 === 7 ? 'corrected' : 'unchanged')
  assert.deepEqual(
    books.texts(),
    corrected.map(({ text }) => text),
  )
  books.write({ ...(rows[0] as (typeof rows)[number]), ts: START + 600_000 })
  assert.equal(books.waiting(), 1)
  assert.equal(books.tailRows(), 1)
  assert.deepEqual(
    books.texts(),
    corrected.map(({ text }) => text),
  )
})
