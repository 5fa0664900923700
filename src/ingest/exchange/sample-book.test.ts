import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Level } from '../../venues/observation.ts'
import { CARRY_FORWARD_MS, GRID_MS } from '../shared/sample-grid.ts'
import { type BookState, sampleBook } from './sample-book.ts'

const book = (timeMs: number, price: string, depth = 5): BookState => ({
  timeMs,
  bids: Array.from({ length: depth }, (_, i): Level => [String(Number(price) - i), '1']),
  asks: Array.from({ length: depth }, (_, i): Level => [String(Number(price) + 1 + i), '1']),
})
const options = { staleAfterMs: 5_000, graceMs: 1_000 }
const times = (rows: { timeMs: number }[]) => rows.map(({ timeMs }) => timeMs)

test('samples lie on the grid, hold the last book at or before it, and come only with a change', () => {
  const sampler = sampleBook(options)
  sampler.receive(book(10_100, '100'))
  sampler.receive(book(10_400, '101'))
  sampler.receive(book(10_700, '101'))
  sampler.receive(book(11_200, '102'))
  const rows = sampler.sample(13_000)
  assert.deepEqual(times(rows), [10_500, 11_500])
  assert.deepEqual(
    rows.map((row) => row.book.bids[0]?.[0]),
    ['101', '102'],
  )
  assert.ok(rows.every(({ timeMs }) => timeMs % GRID_MS === 0))
})

test('a book that is sent late still finds its grid point, within the grace', () => {
  const sampler = sampleBook(options)
  sampler.receive(book(10_000, '100'))
  assert.deepEqual(times(sampler.sample(11_400)), [10_000])
  sampler.receive(book(10_450, '105'))
  assert.deepEqual(times(sampler.sample(11_600)), [10_500])
})

test('the time of a book that comes too late to be sampled is lost, up to the next one', () => {
  const sampler = sampleBook(options)
  sampler.receive(book(10_000, '100'))
  sampler.sample(26_000)
  assert.equal(sampler.receive(book(15_000, '101')), false, 'nothing in time is known')
  assert.deepEqual(sampler.takeLost(), { fromMs: 15_000, toMs: 25_500 })
  assert.equal(sampler.receive(book(26_000, '103')), true)
  assert.equal(sampler.receive(book(17_000, '102')), true, 'a newer one was in time')
  assert.deepEqual(sampler.takeLost(), { fromMs: 17_000, toMs: 25_500 })
  sampler.sample(127_000)
  sampler.receive(book(50_000, '104'))
  assert.equal(sampler.takeLost(), undefined, 'its time is final')
})

test('a book that comes after a newer one shows that samples were wrong: they are written again', () => {
  const sampler = sampleBook(options)
  sampler.receive(book(10_000, '100'))
  sampler.receive(book(14_000, '100'))
  assert.deepEqual(times(sampler.sample(16_000)), [10_000])
  sampler.receive(book(12_000, '105'))
  const rows = sampler.sample(16_500)
  assert.deepEqual(
    rows.map((row) => [row.timeMs, row.book.bids[0]?.[0]]),
    [
      [12_000, '105'],
      [14_000, '100'],
    ],
  )
  sampler.receive(book(12_000, '105'))
  sampler.receive(book(13_000, '105'))
  assert.deepEqual(sampler.sample(17_000), [], 'sent twice, or the same as before it')
  sampler.cut(17_200)
  sampler.receive(book(17_100, '107'))
  sampler.receive(book(17_300, '108'))
  assert.deepEqual(times(sampler.sample(19_000)), [17_500], 'nothing of before the connection is written')
})

test('an unchanged book is written once a minute, a stale one never', () => {
  const sampler = sampleBook(options)
  const rows: number[] = []
  for (let at = 0; at <= 130_000; at += 500) {
    if (at <= 125_000) sampler.receive(book(at, '100'))
    rows.push(...times(sampler.sample(at)))
  }
  assert.deepEqual(rows, [0, CARRY_FORWARD_MS, 2 * CARRY_FORWARD_MS])
  assert.deepEqual(sampler.cut(130_000), [])
  assert.deepEqual(sampler.sample(200_000), [])
  sampler.receive(book(200_000, '100'))
  assert.deepEqual(times(sampler.sample(202_000)), [200_000])
  assert.deepEqual(sampler.sample(280_000), [], 'nothing was received for longer than is normal')
})

test('a change of the deepest level is a change of the book', () => {
  const sampler = sampleBook(options)
  sampler.receive(book(1_000, '100', 20))
  sampler.receive(book(1_500, '100', 20))
  const deeper = book(2_500, '100', 20)
  sampler.receive({ ...deeper, bids: [...deeper.bids.slice(0, 19), ['1', '7']] })
  assert.deepEqual(times(sampler.sample(4_000)), [1_000, 2_500])
})

test('a lost connection: what was received before it still has its grid points, and none after it', () => {
  const sampler = sampleBook(options)
  sampler.receive(book(10_000, '100'))
  sampler.receive(book(10_450, '105'))
  sampler.receive(book(10_950, '106'))
  assert.deepEqual(times(sampler.sample(11_100)), [10_000])
  assert.deepEqual(times(sampler.cut(11_001)), [10_500, 11_000])
  assert.deepEqual(sampler.sample(14_000), [])
  sampler.receive(book(14_200, '106'))
  assert.deepEqual(times(sampler.sample(16_000)), [14_500], 'after a gap an equal book is a row of its own')
})

test('after a long pause every grid point is judged that books were received for; those that did not fit are named', () => {
  const sampler = sampleBook(options)
  sampler.receive(book(0, '100'))
  assert.deepEqual(times(sampler.sample(1_000)), [0])
  for (let at = 4_000; at <= 60_000; at += 4_000) sampler.receive(book(at, String(at)))
  assert.deepEqual(
    times(sampler.sample(62_000)),
    Array.from({ length: 15 }, (_, index) => 4_000 * (index + 1)),
  )
  assert.equal(sampler.takeLost(), undefined)
  for (let at = 64_000; at <= 400_000; at += 4_000) sampler.receive(book(at, String(at)))
  const lost = sampler.takeLost()
  const rows = times(sampler.sample(402_000))
  assert.deepEqual([lost?.fromMs, lost?.toMs, rows.at(-1)], [61_500, rows[0], 400_000])
  assert.equal(rows.length, 64)
  assert.equal(sampler.takeLost(), undefined)
})

test('a book of 1970, or a clock that is years ahead, is no reason to look at every point in between', () => {
  const nowMs = Date.parse('2026-11-10T12:00:00Z')
  const startedMs = performance.now()
  const sampler = sampleBook(options)
  sampler.receive(book(nowMs / 1_000, '100'))
  assert.equal(sampler.sample(nowMs).length, 1)
  sampler.receive(book(nowMs, '101'))
  assert.deepEqual(times(sampler.sample(nowMs + 5 * 365 * 86_400_000)), [nowMs])
  sampler.receive(book(nowMs + 10_000, '102'))
  assert.deepEqual(times(sampler.cut(nowMs + 20_000)), [])
  assert.ok(performance.now() - startedMs < 5_000)
})
