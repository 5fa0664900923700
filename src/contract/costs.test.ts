import assert from 'node:assert/strict'
import { test } from 'node:test'
import { base, flat, noCredits } from './costs.ts'

test('a charge is the base and the units; the words come from the same numbers', () => {
  const cost = base(50).perRow(3)
  assert.equal(cost.charge({ row: 0 }), 50)
  assert.equal(cost.charge({ row: 10 }), 80)
  assert.equal(cost.charge({}), 50)
  assert.equal(cost.describe(), '50 plus 3 per row')
  assert.equal(flat(25).charge({ row: 9 }), 25)
  assert.equal(flat(25).describe(), '25 flat')
  assert.equal(noCredits.charge({ row: 9 }), 0)
  assert.equal(base(10).per('attempt', 5).charge({ attempt: 2 }), 20)
  assert.equal(base(10).per('attempt', 5).perRow(1).describe(), '10 plus 5 per attempt plus 1 per row')
})

test('a variant replaces the price per row where the input says so', () => {
  const cost = base(50).perRow(4).perRowWhen('with books', 10, { books: true })
  assert.equal(cost.charge({ row: 2 }, { books: true }), 70)
  assert.equal(cost.charge({ row: 2 }, { books: false }), 58)
  assert.equal(cost.describe(), '50 plus 4 per row; 50 plus 10 per row with books')
})

test('where a part of the input is fixed, only the prices that can occur are described', () => {
  const cost = base(50).perRow(4).perRowWhen('with books of a', 10, { books: true, source: 'a' })
  assert.equal(cost.given({ source: 'a', books: true }).describe(), '50 plus 10 per row')
  assert.equal(cost.given({ source: 'b', books: true }).describe(), '50 plus 4 per row')
  assert.equal(cost.given({ source: 'b' }).describe(), '50 plus 4 per row')
  assert.equal(
    cost.given({ source: 'a' }).describe(),
    '50 plus 4 per row; 50 plus 10 per row with books of a',
  )
  for (const input of [
    { source: 'a', books: true },
    { source: 'a', books: false },
    { source: 'b', books: true },
  ]) {
    assert.equal(cost.given(input).charge({ row: 2 }, input), cost.charge({ row: 2 }, input))
  }
})

test('a balance pays for exactly as many rows as it covers', () => {
  const cost = base(50).perRow(3)
  for (let balance = cost.least(); balance < 400; balance++) {
    const rows = cost.affordableRows(balance)
    assert.ok(cost.charge({ row: rows }) <= balance)
    assert.ok(cost.charge({ row: rows + 1 }) > balance)
  }
  assert.equal(flat(25).affordableRows(25), Number.POSITIVE_INFINITY)
})
