import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  add,
  compare,
  decimal,
  decimalText,
  divide,
  multiply,
  round,
  subtract,
  tryDecimal,
} from './decimal.ts'

test('a decimal is written in its shortest exact form', () => {
  const cases: [string, string][] = [
    ['0.00100000', '0.001'],
    ['12.50', '12.5'],
    ['007', '7'],
    ['-0.0', '0'],
    ['-.5', '-0.5'],
    ['1e-8', '0.00000001'],
    ['1.5E3', '1500'],
    ['100', '100'],
  ]
  for (const [text, shortest] of cases) assert.equal(decimalText(decimal(text)), shortest)
})

test('what is not a finite decimal number is refused', () => {
  for (const text of ['', '.', '-', 'NaN', 'Infinity', '1,5', '0x10', '1.2.3', ' 1', '9'.repeat(200)]) {
    assert.equal(tryDecimal(text), undefined, text)
  }
  assert.throws(() => decimal('abc'), RangeError)
})

test('sums and products are exact where floating point is not', () => {
  assert.equal(decimalText(add(decimal('0.1'), decimal('0.2'))), '0.3')
  assert.equal(decimalText(subtract(decimal('1'), decimal('0.9'))), '0.1')
  assert.equal(decimalText(multiply(decimal('61234.01'), decimal('0.00123'))), '75.3178323')
})

test('division rounds half away from zero at the asked decimals', () => {
  const third = divide(decimal('1'), decimal('3'), 6)
  assert.equal(third && decimalText(third), '0.333333')
  const half = divide(decimal('-5'), decimal('2'), 0)
  assert.equal(half && decimalText(half), '-3')
  assert.equal(divide(decimal('1'), decimal('0.00'), 4), undefined)
  assert.equal(decimalText(round(decimal('2.345'), 2)), '2.35')
})

test('comparison ignores the written scale', () => {
  assert.equal(compare(decimal('1.50'), decimal('1.5')), 0)
  assert.equal(compare(decimal('-1'), decimal('0.5')), -1)
})
