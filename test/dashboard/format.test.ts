import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clampRange, priceLabels } from '../../src/dashboard/web/explorer/axis.ts'
import { placePath, readPlace } from '../../src/dashboard/web/explorer/place.ts'
import { bytes, candleTime, planName, plural } from '../../src/dashboard/web/format.ts'
import { olderRows } from '../../src/dashboard/web/older-rows.ts'
import { replayNote } from '../../src/dashboard/web/views/replay-note.ts'

test('one thing is singular, any other number of them plural, thousands are separated', () => {
  assert.deepEqual(
    [0, 1, 2, 1_200].map((value) => plural(value, 'candle')),
    ['0 candles', '1 candle', '2 candles', '1,200 candles'],
  )
  assert.deepEqual([plural(1, 'try', 'tries'), plural(2, 'try', 'tries')], ['1 try', '2 tries'])
  assert.equal(bytes(12_345_678), '12,056.3 KiB')
})

test('a plan has its name, with the name of its tier beside it where that is another one', () => {
  assert.equal(planName({ name: 'developer', tier: 'pro' }), 'developer (pro)')
  assert.equal(planName({ name: 'business', tier: 'business' }), 'business')
})

test('labels of an axis: thousands are separated, values that are no probability have none, 0 has no sign', () => {
  const price = priceLabels(2, false)
  assert.deepEqual([price(61_234.5), price(-3)], ['61,234.50', '-3.00'])
  const probability = priceLabels(2, true)
  assert.deepEqual([-0.2, -0.01, -0.000_001, 0, 0.5, 1, 1.000_001, 1.01].map(probability), [
    '',
    '',
    '0.00',
    '0.00',
    '0.50',
    '1.00',
    '1.00',
    '',
  ])
})

test('the range of an axis of probabilities stays within 0 and 1', () => {
  const range = (minValue: number, maxValue: number) =>
    clampRange(() => ({ priceRange: { minValue, maxValue } }))?.priceRange
  assert.deepEqual(range(-0.3, 0.2), { minValue: 0, maxValue: 0.2 })
  assert.deepEqual(range(0.4, 1.2), { minValue: 0.4, maxValue: 1 })
  assert.equal(
    clampRange(() => null),
    null,
  )
})

test('a candle of a second is shown with its second, longer ones without', () => {
  const text = '2026-03-14T04:05:06.000Z'
  assert.equal(candleTime(text, 1_000), '2026-03-14 04:05:06')
  assert.equal(candleTime(text, 60_000), '2026-03-14 04:05')
})

test('a place survives being written to and read from the address; unknown values are ignored', () => {
  const place = {
    tab: 'candles',
    environment: 'live',
    symbol: 'ETH',
    source: 'predmkt_b',
    interval: '5m',
    market: 'KXETHD-26NOV15&x=1 #?',
    outcome: 'Yes',
    length: '1h',
    time: Date.UTC(2026, 2, 14, 4, 5, 6),
  } as const
  assert.deepEqual(readPlace(placePath(place)), place)
  const { tab, ...rest } = readPlace(
    'explorer/nothing?symbol=DOGE&source=x&interval=7m&time=soon&environment=no',
  )
  assert.equal(tab, 'candles')
  assert.deepEqual(
    Object.values(rest).filter((value) => value !== undefined),
    [],
  )
})

test('earlier pages follow the newest one as long as it reaches back to them', () => {
  const after = (newest: number[], earlier: number[]) => olderRows(newest, earlier, (row) => row)
  assert.deepEqual(after([9, 8, 7], [8, 7, 6, 5]), [6, 5])
  assert.deepEqual(after([9, 8, 7], [7, 6]), [6])
  assert.equal(after([9, 8, 7], [5, 4]), undefined, 'the row between them is missing')
  assert.equal(after([9, 8, 7], []), undefined)
})

test('a replay says what is sent, what waits already, and what there is none of', () => {
  const note = (change: object) =>
    replayNote({ events: 0, already_pending: 0, next_after_seq: null, gap: false, ...change })
  assert.equal(note({}), 'There is no event of these kinds in the range.')
  assert.equal(note({ already_pending: 3 }), '3 events wait to be delivered already.')
  assert.equal(
    note({ events: 1, already_pending: 1, next_after_seq: 7 }),
    '1 event is delivered again. 1 event waits to be delivered already. The range has more.',
  )
})
