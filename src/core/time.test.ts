import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatTime, parseTime } from './time.ts'

const iso = (text: string) => {
  const time = parseTime(text)
  return time === undefined ? undefined : new Date(time).toISOString()
}

test('ISO 8601 with Z or an offset, and a date alone', () => {
  assert.equal(iso('2026-03-14T04:00:00Z'), '2026-03-14T04:00:00.000Z')
  assert.equal(iso('2026-03-14T04:00:00.123456789Z'), '2026-03-14T04:00:00.123Z')
  assert.equal(iso('2026-03-14T04:00Z'), '2026-03-14T04:00:00.000Z')
  assert.equal(iso('2026-03-14T04:00:00+02:00'), '2026-03-14T02:00:00.000Z')
  assert.equal(iso('2026-03-14T04:00:00-0530'), '2026-03-14T09:30:00.000Z')
  assert.equal(iso('2026-03-14T04:00:00+02'), '2026-03-14T02:00:00.000Z')
  assert.equal(iso('2026-03-14'), '2026-03-14T00:00:00.000Z')
  assert.equal(iso('2028-02-29'), '2028-02-29T00:00:00.000Z')
})

test('a plus that was not percent-encoded arrives as a space and is understood', () => {
  assert.equal(iso('2026-03-14T04:00:00 02:00'), '2026-03-14T02:00:00.000Z')
  assert.equal(iso('2026-03-14T04:00:00 0200'), '2026-03-14T02:00:00.000Z')
})

test('epoch seconds and milliseconds', () => {
  assert.equal(iso('1773460800'), '2026-03-14T04:00:00.000Z')
  assert.equal(iso('1773460800123'), '2026-03-14T04:00:00.123Z')
  assert.equal(iso('0'), '1970-01-01T00:00:00.000Z')
})

test('anything else is not a time', () => {
  for (const text of [
    '',
    'now',
    'yesterday',
    '2026',
    '2026-3-14',
    '2026-02-30',
    '2026-13-01',
    '2026-03-14T04:00:00',
    '2026-03-14T25:00:00Z',
    '2026-03-14T04:60:00Z',
    '2026-03-14T04:00:00+15:00',
    '2026-03-14T04:00:00+02:60',
    '0050-01-01',
    '20260314',
    '-1773460800',
    '1.5e9',
    '1773460800.5',
    'NaN',
    ' 2026-03-14',
    '2026-03-14T04:00:00ZZ',
  ]) {
    assert.equal(parseTime(text), undefined, JSON.stringify(text))
  }
})

test('times are written with milliseconds and Z', () => {
  for (const ms of [0, 1, 999, 1_000, 1_773_460_800_123, 1_773_460_800_007, 1_773_460_799_999, -1]) {
    assert.equal(formatTime(ms), new Date(ms).toISOString())
  }
})
