import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeSnapshot } from '../../core/rows/snapshot.ts'
import { START, seeded } from '../conformance/engine.ts'
import { drifting } from '../conformance/snapshots.ts'
import { decodeBlock, encodeBlock, spanOf } from './block.ts'
import { type BookRow, packedOf, sidesOf } from './book-row.ts'
import { fieldsOf } from './fields.ts'

const feed = { dataset: 'snapshots', source: 'predmkt_a', symbol: 'BTC', interval: '5m' } as const

function rowsOf(samples: number): { row: BookRow; packed: string }[] {
  return drifting(seeded(8), ['0xa'], samples).map((input, index) => {
    const { ts, seq, text, books = '' } = encodeSnapshot(feed, input)
    return {
      row: { ts, seq, recordedAt: ts + 900 + (index % 7), text, sides: sidesOf(books) },
      packed: books,
    }
  })
}

test('a block gives back what was put into it, byte for byte, also row by row', () => {
  const given = rowsOf(600)
  const block = decodeBlock(encodeBlock(given.map(({ row }) => row)), spanOf(START))
  const back = block.rows()
  assert.deepEqual(
    back.map((row) => [row.ts, row.seq, row.recordedAt, row.text, packedOf(row)]),
    given.map(({ row, packed }) => [row.ts, row.seq, row.recordedAt, row.text, packed]),
  )
  for (const indexes of [[0], [599], [3, 4, 77], [99, 100], [101, 250, 251, 599], [0, 599], [300], [199]])
    assert.deepEqual(
      block.rows(indexes),
      indexes.map((index) => back[index]),
    )
})

test('the second book may stop and begin again to be the mirror of the first', () => {
  const mirror = sidesOf('[0.4,1]|[0.6,2]|[0.4,2]|[0.6,1]')
  const other = sidesOf('[0.4,1]|[0.6,2]|[0.3,2]|[0.6,1];[0.7,5]')
  assert.deepEqual([mirror.length, other.length], [2, 4])
  const given = [mirror, other, mirror, mirror, other].map((sides, i) => ({
    ts: START + i * 500,
    seq: 0,
    recordedAt: START,
    text: `{"a":${i}}`,
    sides,
  }))
  assert.deepEqual(decodeBlock(encodeBlock(given), spanOf(START)).rows(), given)
})

test('rows of different fields, nested values and quotes inside texts come back as they were', () => {
  const texts = ['{"a":"x\\\\\\",{","b":null}', '{"a":1}', '{"a":{"b":[1,2]}}', '[]', '{"timestamp":"wrong"}']
  const given = texts.map((text, i) => ({
    ts: START + i,
    seq: i,
    recordedAt: START - 5_000 + i * 977,
    text,
    sides: sidesOf('|||'),
  }))
  assert.deepEqual(decodeBlock(encodeBlock(given), spanOf(START)).rows(), given)
  for (const row of given) assert.deepEqual(decodeBlock(encodeBlock([row]), spanOf(START)).rows(), [row])
  assert.deepEqual(fieldsOf('{"a":"x\\\\\\",{","b":null}'), {
    names: ['a', 'b'],
    values: ['"x\\\\\\",{"', 'null'],
  })
})

test('a row of a market that lives takes less than a tenth of its text', () => {
  const given = rowsOf(1_200)
  const size = given.reduce((sum, { row, packed }) => sum + row.text.length + packed.length, 0)
  const { length } = encodeBlock(given.map(({ row }) => row))
  assert.ok(length < size / 10, `${length} of ${size}`)
})
