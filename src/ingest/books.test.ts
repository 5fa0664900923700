import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BookDiffObservation, BookSnapshotObservation, Level } from '../venues/observation.ts'
import { keepBook } from './keep-book.ts'
import { type BookState, GRID_MS, KEEP_ALIVE_MS, sampleBook } from './sample-book.ts'

const about = { source: 'cexa', symbol: 'BTC', instrument: 'BTCUSDT', receivedMs: 0, key: null } as const

const snapshot = (id: number, bids: Level[], asks: Level[]): BookSnapshotObservation => ({
  ...about,
  ...{ kind: 'book_snapshot', feed: 'rest', venueTimeMs: id, lastUpdateId: id, bids, asks },
})
const diff = (
  first: number,
  last: number,
  bids: Level[],
  previous: number | null = null,
): BookDiffObservation => ({
  ...about,
  ...{
    kind: 'book_diff',
    venueTimeMs: last,
    firstUpdateId: first,
    lastUpdateId: last,
    previousUpdateId: previous,
  },
  ...{ bids, asks: [] },
})

test('diffs that came before the snapshot are used: a resync loses no update', () => {
  const book = keepBook()
  assert.equal(book.apply(diff(8, 10, [['99', '1']])), true, 'a snapshot is needed')
  assert.equal(book.apply(diff(11, 12, [['100', '2']])), true)
  assert.equal(book.top(5), undefined)
  assert.equal(book.load(snapshot(9, [['98', '1']], [['101', '1']])), true)
  assert.deepEqual(book.top(5)?.bids, [
    ['100', '2'],
    ['99', '1'],
    ['98', '1'],
  ])
  assert.equal(book.apply(diff(13, 13, [['100', '0']])), false)
  assert.deepEqual(book.top(1)?.bids, [['99', '1']])
})

test('a skipped number makes the book unknown until a snapshot fits; old diffs are ignored', () => {
  const book = keepBook()
  book.load(snapshot(20, [['98', '1']], [['101', '1']]))
  assert.equal(book.apply(diff(15, 20, [['1', '1']])), false, 'older than the snapshot')
  assert.equal(book.apply(diff(21, 22, [])), false)
  assert.equal(book.apply(diff(24, 25, [['97', '5']])), true, '23 is missing')
  assert.equal(book.isSynced, false)
  assert.equal(book.load(snapshot(21, [], [])), false, 'too old for what was kept')
  assert.equal(book.load(snapshot(24, [['96', '1']], [])), true)
  assert.deepEqual(book.top(5)?.bids, [
    ['97', '5'],
    ['96', '1'],
  ])
  assert.equal(book.resyncs, 2)
})

test('chained diffs must name the one before', () => {
  const book = keepBook()
  book.load(snapshot(100, [], [['5', '1']]))
  assert.equal(book.apply(diff(90, 105, [['3', '1']], 89)), false, 'the first spans the snapshot')
  assert.equal(book.apply(diff(108, 110, [['4', '1']], 105)), false)
  assert.equal(book.apply(diff(112, 115, [], 111)), true)
})

const book = (timeMs: number, price: string, depth = 5): BookState => ({
  timeMs,
  bids: Array.from({ length: depth }, (_, i): Level => [String(Number(price) - i), '1']),
  asks: Array.from({ length: depth }, (_, i): Level => [String(Number(price) + 1 + i), '1']),
})
const options = { staleAfterMs: 5_000, graceMs: 1_000 }
const times = (rows: { timeMs: number }[]) => rows.map(({ timeMs }) => timeMs)

test('samples lie on the grid, hold the last book at or before it, and come only with a change', () => {
  const sampler = sampleBook(options)
  sampler.heard(book(10_100, '100'))
  sampler.heard(book(10_400, '101'))
  sampler.heard(book(10_700, '101'))
  sampler.heard(book(11_200, '102'))
  const rows = sampler.sample(13_000)
  assert.deepEqual(times(rows), [10_500, 11_500])
  assert.deepEqual(
    rows.map((row) => row.book.bids[0]?.[0]),
    ['101', '102'],
  )
  assert.ok(rows.every(({ timeMs }) => timeMs % GRID_MS === 0))
})

test('a book that is told late still finds its grid point, within the grace', () => {
  const sampler = sampleBook(options)
  sampler.heard(book(10_000, '100'))
  assert.deepEqual(times(sampler.sample(11_400)), [10_000])
  sampler.heard(book(10_450, '105'))
  assert.deepEqual(times(sampler.sample(11_600)), [10_500])
})

test('an unchanged book is written once a minute, a stale one never', () => {
  const sampler = sampleBook(options)
  const rows: number[] = []
  for (let at = 0; at <= 130_000; at += 500) {
    if (at <= 125_000) sampler.heard(book(at, '100'))
    rows.push(...times(sampler.sample(at)))
  }
  assert.deepEqual(rows, [0, KEEP_ALIVE_MS, 2 * KEEP_ALIVE_MS])
  sampler.forget()
  assert.deepEqual(sampler.sample(200_000), [])
  sampler.heard(book(200_000, '100'))
  assert.deepEqual(times(sampler.sample(202_000)), [200_000])
  assert.deepEqual(sampler.sample(280_000), [], 'nothing was heard for longer than is normal')
})

test('a shallow book between two deep ones neither hides nor invents a change', () => {
  const sampler = sampleBook(options)
  sampler.heard(book(1_000, '100', 20))
  sampler.heard(book(1_500, '100', 5))
  sampler.heard(book(2_000, '100', 20))
  const deeper = book(2_500, '100', 20)
  sampler.heard({ ...deeper, bids: [...deeper.bids.slice(0, 19), ['1', '7']] })
  assert.deepEqual(times(sampler.sample(4_000)), [1_000, 2_500])
})
