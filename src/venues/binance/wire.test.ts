import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AggregateTradeRows, KlineRows } from './wire.ts'

test('an element that the venue appends to a candle does not refuse the answer', () => {
  const candle = [0, '1', '2', '0.5', '1.5', '10', 59_999, '15', 7, '6', '9', '0']
  assert.ok(KlineRows.is([candle, [...candle, 'new']]))
  assert.ok(!KlineRows.is([candle.slice(0, 11)]))
})

test('an aggregate trade without fills does not refuse the answer', () => {
  const row = { a: 5, p: '0.00', q: '0.00', f: -1, l: -1, T: 1_000, m: true }
  assert.ok(AggregateTradeRows.is([row]))
  assert.ok(!AggregateTradeRows.is([{ ...row, f: -2 }]))
})
