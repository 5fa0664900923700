import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { type BlockRow, decodeRows, encodeRows, lastOfBlock, openBlock } from './row-block.ts'

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
    // Texts that differ in one surrogate, and texts that are all alike.
    ['a😀z', 'a😁z', 'a🨀z', 'a😀'].map((text, index) => row(index, { text })),
    [row(0, { text: 'xx' }), row(1, { text: 'xx' }), row(2, { text: 'x' })],
    [
      row(1, { side: 'buy', usd: 0.1 }),
      row(1, { seq: 2 ** 52, side: null, revision: 7 }),
      row(2, { instrument: 'é' }),
    ],
  ])
    for (const data of [encodeRows(rows), encodeRows(rows, true)]) {
      assert.deepEqual(decodeRows(data), rows)
      const { count, ts, text, row: textOf, instrument, seq, side, usd } = openBlock(data)
      assert.equal(text, rows.map((each) => `${each.text},\n`).join(''))
      assert.deepEqual(
        Array.from({ length: count }, (_, i) => [ts[i], textOf(i), instrument(i), seq(i), side(i), usd(i)]),
        rows.map((each) => [each.ts, each.text, each.instrument, each.seq, each.side, each.usd]),
      )
    }
})

test('a dollar sign is text like any other, also where all rows begin and end alike', () => {
  const rows = [0, 1, 2].map((index) => ({
    ...row(index),
    text: `{"a":"$$ $& $1","n":${index},"b":"$' $$"}`,
  }))
  const data = encodeRows(rows)
  assert.deepEqual(
    [0, 1, 2].map(openBlock(data).row),
    rows.map(({ text }) => text),
  )
})

test('the last row can be read alone where it was put apart, and nowhere else', () => {
  const rows = Array.from({ length: 30 }, (_, index) => row(index))
  assert.equal(lastOfBlock(encodeRows(rows, true)), rows.at(-1)?.text)
  assert.equal(lastOfBlock(encodeRows(rows)), undefined)
})

test('an earlier block, which has whole texts, is read', () => {
  const rows = [row(0, { recordedAt: 5 }), row(1, { recordedAt: 7 })]
  const head = JSON.stringify({ ts: [rows[0]?.ts, 1_000], recorded: [5, 2] })
  const data = zstdCompressSync([head, ...rows.map(({ text }) => text)].join('\n'))
  assert.deepEqual(decodeRows(data), rows)
  assert.equal(openBlock(data).row(1), rows[1]?.text)
})

test('an earlier block, which has its last row apart as a frame, is read', () => {
  const rows = [row(0), row(1)]
  const last = zstdCompressSync(rows[1]?.text ?? '')
  const start = Buffer.from([1, last.length, 0, 0, 0])
  const data = Buffer.concat([start, last, encodeRows(rows)])
  assert.equal(lastOfBlock(data), rows[1]?.text)
  assert.deepEqual(decodeRows(data), rows)
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
