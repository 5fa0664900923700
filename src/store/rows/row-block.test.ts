import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import lz4 from 'lz4-napi'
import type { BlockRow } from './block-row.ts'
import { decodeRows, encodeRows, lastOfBlock, openBlock } from './row-block.ts'

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

test('earlier blocks, packed with zstd, are read', () => {
  const rows = [row(0, { recordedAt: 5, seq: 3 }), row(1, { recordedAt: 7, side: 'buy', instrument: 'a' })]
  const columns = { ts: [rows[0]?.ts, 1_000], recorded: [5, 2], instruments: ['', 'a'] }
  const head = { ...columns, seqs: [3, 0], sides: [null, 'buy'] }
  const frame = (more: object, texts: string[]) =>
    zstdCompressSync([JSON.stringify({ ...head, ...more }), ...texts].join('\n'))
  const texts = rows.map(({ text }) => text)
  const end = '}'
  const around = ['{"timestamp":"…","close":10', end] as const
  const own = texts.map((text) => text.slice(around[0].length, -end.length))
  for (const data of [frame({}, texts), frame({ around }, own)]) {
    const last = zstdCompressSync(texts[1] ?? '')
    const lastApart = Buffer.concat([Buffer.from([1, last.length, 0, 0, 0]), last, data])
    assert.equal(lastOfBlock(lastApart), texts[1])
    for (const each of [data, lastApart]) {
      assert.deepEqual(decodeRows(each), rows)
      assert.deepEqual([0, 1].map(openBlock(each).row), texts)
    }
  }
})

test('differences beyond 32 bits, numbers that are not whole, and negative ones come out as they went in', () => {
  const rows = [
    row(0, { ts: 0, usd: 12.5, seq: -5 }),
    row(1, { ts: 2 ** 31 - 1, usd: null, seq: Number.MIN_SAFE_INTEGER }),
    row(2, { ts: 2 ** 32, usd: 1e-9, seq: Number.MAX_SAFE_INTEGER }),
  ]
  assert.deepEqual(decodeRows(encodeRows(rows)), rows)
  assert.deepEqual([...openBlock(encodeRows(rows)).ts], [0, 2 ** 31 - 1, 2 ** 32])
})

test('a damaged block is an error, whatever length it claims', () => {
  const data = encodeRows([row(0), row(1)])
  data.set([255, 255, 255, 255], 1)
  assert.throws(() => openBlock(data), /damaged/)
  assert.throws(() => openBlock(encodeRows([row(0), row(1)]).subarray(0, 30)))
  assert.throws(() => openBlock(Buffer.of(9, 0, 0, 0, 0)), /damaged/)
})

test('a block whose head, columns and texts do not fit together is an error', () => {
  const rows = Array.from({ length: 40 }, (_, index) => row(index))
  for (const [found, written] of [
    ['"count":40', '"count":39'],
    ['"count":40', '"count":41'],
    ['"count":40', '"count":90'],
    [',\n{', ', {'],
  ] as const) {
    const [kind, ...packed] = encodeRows(rows)
    const unpacked = lz4.uncompressSync(Buffer.from(packed)).toString('latin1')
    assert.ok(unpacked.includes(found))
    const changed = Buffer.from(unpacked.replace(found, written), 'latin1')
    const data = Buffer.concat([Buffer.of(kind ?? 0), lz4.compressSync(changed)])
    for (const read of [openBlock, decodeRows]) assert.throws(() => read(data), /damaged/)
  }
})

test('what is kept of an opened block are its columns and its text, not also the bytes of the text', () => {
  const rows = [row(0, { ts: 0 }), row(1, { ts: 2 ** 40 }), row(2, { ts: 2 ** 41 })]
  const { ts, text } = openBlock(encodeRows(rows))
  assert.deepEqual([...ts], [0, 2 ** 40, 2 ** 41])
  assert.ok(ts.buffer.byteLength < text.length)
})

test('candles of a second take a sixth of their text', () => {
  const rows = Array.from({ length: 128 }, (_, index) =>
    row(index, {
      text: `{"timestamp":"2026-03-14T00:00:${index}.000Z","symbol":"BTC","source":"cexa","interval":"1s","open":${60_000 + index},"volume":${index * 7.31},"closed":true}`,
    }),
  )
  const length = rows.reduce((sum, { text }) => sum + text.length, 0)
  assert.ok(encodeRows(rows).length < length / 6)
})
