import assert from 'node:assert/strict'
import { test } from 'node:test'
import { START } from '../conformance/engine.ts'
import { decodeBlock, encodeBlock, spanOf } from './block.ts'
import type { BookRow } from './book-row.ts'
import { mergedRows, mergedView, rowAt } from './group.ts'
import { NO_BOOKS } from './pack-sides.ts'

const row = (ms: number, seq: number, text: string): BookRow => ({
  ts: START + ms,
  seq,
  recordedAt: START,
  text: `{"a":"${text}"}`,
  sides: NO_BOOKS,
})
const BLOCK = [row(0, 0, 'first'), row(500, 0, 'old'), row(500, 1, 'beside'), row(1_500, 0, 'last')]
const TAIL = [row(2_000, 0, 'new'), row(500, 0, 'corrected'), row(1_000, 0, 'late')]
const MERGED = ['first', 'corrected', 'beside', 'late', 'last', 'new'].map((text) => `{"a":"${text}"}`)

test('rows of block and tail are one sorted list in which the tail replaces the block', () => {
  assert.deepEqual(
    mergedRows(BLOCK, TAIL).map(({ text }) => text),
    MERGED,
  )
  assert.deepEqual(mergedRows([], []), [])
})

test('a view over the keys gives the same rows as merging the rows themselves', () => {
  const tail = TAIL.toSorted((a, b) => a.ts - b.ts)
  const view = mergedView(
    1,
    'btc',
    decodeBlock(encodeBlock(BLOCK), spanOf(START)),
    tail.map(({ ts, seq }) => [ts, seq]),
    (ts, seq) => rowAt(tail, ts, seq) as BookRow,
  )
  const rows = view.rows([...view.ts.keys()])
  assert.deepEqual(
    rows.map(({ text }) => text),
    MERGED,
  )
  assert.deepEqual(
    rows.map(({ ts, seq }) => [ts, seq]),
    mergedRows(BLOCK, TAIL).map(({ ts, seq }) => [ts, seq]),
  )
})

test('a row is found by both parts of its key', () => {
  for (const each of BLOCK) assert.equal(rowAt(BLOCK, each.ts, each.seq), each)
  assert.equal(rowAt(BLOCK, START + 500, 2), undefined)
  assert.equal(rowAt(BLOCK, START + 2_000, 0), undefined)
  assert.equal(rowAt([], START, 0), undefined)
})
