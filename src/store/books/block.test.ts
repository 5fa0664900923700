import assert from 'node:assert/strict'
import { test } from 'node:test'
import { microOf } from '../../core/micro.ts'
import { type MicroSide, NO_SIDE, sidesOfBooks } from '../../core/micro-book.ts'
import { encodeSnapshot } from '../../core/rows/snapshot.ts'
import { START, seeded } from '../conformance/engine.ts'
import { drifting } from '../conformance/snapshots.ts'
import { contentOf, decodeBlock, decodeBlocks, encodeBlock, spanOf } from './block.ts'
import { allSides, type BookRow, levelsOf } from './book-row.ts'
import { fieldsOf } from './fields.ts'
import { NO_BOOKS, packSides, unpackSides } from './pack-sides.ts'

const feed = { dataset: 'snapshots', source: 'predmkt_a', symbol: 'BTC', interval: '5m' } as const

/** `bids|asks|bids|asks`, levels as price and size. */
function sidesOf(text: string): readonly MicroSide[] {
  const [bids = NO_SIDE, asks = NO_SIDE, otherBids = NO_SIDE, otherAsks = NO_SIDE] = text
    .split('|')
    .map((side) => {
      const levels =
        side === '' ? [] : side.split(';').map((level) => level.split(',').map((part) => microOf(part) ?? 0))
      return { prices: levels.map(([price = 0]) => price), sizes: levels.map(([, size = 0]) => size) }
    })
  return sidesOfBooks({ bids, asks }, { bids: otherBids, asks: otherAsks })
}

function rowsOf(samples: number): BookRow[] {
  return drifting(seeded(8), ['0xa'], samples).map((input, index) => {
    const { ts, seq, text, books = NO_BOOKS } = encodeSnapshot(feed, input)
    return { ts, seq, recordedAt: ts + 900 + (index % 7), text, sides: books }
  })
}

test('a block gives back what was put into it, byte for byte, also row by row', () => {
  const given = rowsOf(600)
  const block = decodeBlock(encodeBlock(given), spanOf(START))
  const back = block.rows()
  assert.deepEqual(back, given)
  for (const indexes of [[0], [599], [3, 4, 77], [99, 100], [101, 250, 251, 599], [0, 599], [300], [199]])
    assert.deepEqual(
      block.rows(indexes),
      indexes.map((index) => back[index]),
    )
})

test('blocks that follow each other are read as one', () => {
  const given = rowsOf(300)
  const cuts = [0, 8, 9, 120, 300]
  const parts = cuts.slice(1).map((end, i) => given.slice(cuts[i], end))
  const first = encodeBlock(parts[0] ?? [])
  const later = parts.slice(1).map((rows) => encodeBlock(rows, contentOf(first)))
  const joined = decodeBlocks([first, ...later], spanOf(START))
  assert.deepEqual(joined?.rows(), given)
  assert.deepEqual(
    joined?.ts,
    given.map(({ ts }) => ts),
  )
  for (const indexes of [[], [0], [7, 8, 9], [8], [119, 120, 299], [3, 250]])
    assert.deepEqual(
      joined?.rows(indexes),
      indexes.map((index) => given[index]),
    )
  assert.equal(decodeBlocks([], spanOf(START)), undefined)
})

test('a further block takes less room with the first one as its dictionary, and is not read without it', () => {
  const given = rowsOf(300)
  const first = contentOf(encodeBlock(given.slice(0, 100)))
  const [alone, after] = [encodeBlock(given.slice(100, 132)), encodeBlock(given.slice(100, 132), first)]
  assert.ok(after.length < alone.length, `${after.length} and ${alone.length} bytes`)
  assert.throws(() => decodeBlock(after, spanOf(START)), RangeError)
  // Blocks written without the dictionary are read together with those that use it.
  const parts = [encodeBlock(given.slice(0, 100)), after, encodeBlock(given.slice(132))]
  assert.deepEqual(decodeBlocks(parts, spanOf(START))?.rows(), given)
})

test('packed books are read back unchanged, and equal books have equal bytes', () => {
  const given = [
    ...rowsOf(50).map(({ sides }) => sides),
    NO_BOOKS,
    sidesOf('0.4,1|||'),
    sidesOf('|0.6,2||'),
    sidesOf('0.999999,123456789.123456;0,1|1,0.000001|0.3,2|0.6,1;0.7,5'),
  ]
  for (const sides of given) {
    const packed = packSides(sides)
    assert.deepEqual(unpackSides(packed), sides)
    assert.deepEqual(packSides(structuredClone(sides)), packed)
  }
  assert.equal(packSides(NO_BOOKS).length, 0)
})

test('the second book may stop mirroring the first, and start again', () => {
  const mirror = sidesOf('0.4,1|0.6,2|0.4,2|0.6,1')
  const other = sidesOf('0.4,1|0.6,2|0.3,2|0.6,1;0.7,5')
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

test('rows with different fields, nested values and quotes in their texts are read back unchanged', () => {
  const texts = ['{"a":"x\\\\\\",{","b":null}', '{"a":1}', '{"a":{"b":[1,2]}}', '[]', '{"timestamp":"wrong"}']
  const given = texts.map((text, i) => ({
    ts: START + i,
    seq: i,
    recordedAt: START - 5_000 + i * 977,
    text,
    sides: NO_BOOKS,
  }))
  assert.deepEqual(decodeBlock(encodeBlock(given), spanOf(START)).rows(), given)
  for (const row of given) assert.deepEqual(decodeBlock(encodeBlock([row]), spanOf(START)).rows(), [row])
  assert.deepEqual(fieldsOf('{"a":"x\\\\\\",{","b":null}'), {
    names: ['a', 'b'],
    values: ['"x\\\\\\",{"', 'null'],
  })
})

test('a row of an active market takes less than a tenth of its text', () => {
  const given = rowsOf(1_200)
  const booksText = (row: BookRow) =>
    allSides(row)
      .map((side) => levelsOf(side).join())
      .join()
  const size = given.reduce((sum, row) => sum + row.text.length + booksText(row).length, 0)
  const { length } = encodeBlock(given)
  assert.ok(length < size / 10, `${length} of ${size}`)
})
