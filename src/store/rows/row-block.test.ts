import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BlockRow, decodeRows, encodeRows } from './row-block.ts'

const row = (index: number, more: Partial<BlockRow> = {}): BlockRow => ({
  ts: 1_773_446_400_000 + index * 1_000,
  ...{ instrument: '', seq: 0, side: null, usd: null, revision: 1 },
  text: `{"timestamp":"…","close":${100 + index},"name":"é𝒳"}`,
  recordedAt: 1_773_446_400_300 - index,
  ...more,
})

test('rows come out of a block as they went in, with every column', () => {
  for (const rows of [
    [row(0)],
    Array.from({ length: 500 }, (_, index) => row(index)),
    [
      row(1, { side: 'buy', usd: 0.1 }),
      row(1, { seq: 2 ** 52, side: null, revision: 7 }),
      row(2, { instrument: 'é' }),
    ],
  ])
    assert.deepEqual(decodeRows(encodeRows(rows)), rows)
})

test('candles of a second take a tenth of their text', () => {
  const rows = Array.from({ length: 128 }, (_, index) =>
    row(index, {
      text: `{"timestamp":"2026-03-14T00:00:${index}.000Z","symbol":"BTC","source":"cexa","interval":"1s","open":${60_000 + index},"volume":${index * 7.31},"closed":true}`,
    }),
  )
  const length = rows.reduce((sum, { text }) => sum + text.length, 0)
  assert.ok(encodeRows(rows).length < length / 10)
})
