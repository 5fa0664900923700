import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownName } from './other-names.ts'

const ROWS = ['symbol', 'source', 'interval', 'start', 'end', 'limit', 'after', 'order']

test('names of other services lead to the names here', () => {
  const cases = [
    ['from', 'start'],
    ['to', 'end'],
    ['since', 'start'],
    ['startTime', 'start'],
    ['end-time', 'end'],
    ['cursor', 'after'],
    ['exchange', 'source'],
    ['pair', 'symbol'],
    ['resolution', 'interval'],
    ['page_size', 'limit'],
    ['Symbol', 'symbol'],
  ] as const
  for (const [other, own] of cases) assert.equal(ownName(other, ROWS), own, other)
})

test('a name is suggested only where the operation has it', () => {
  assert.equal(ownName('from', ['symbol', 'limit']), undefined)
  assert.equal(ownName('cursor', ['symbol', 'limit']), undefined)
  assert.equal(ownName('after', ['limit', 'cursor']), 'cursor')
  assert.equal(ownName('interval', ['symbol', 'market_type']), 'market_type')
  for (const other of ['constructor', '__proto__', 'toString', ''])
    assert.equal(ownName(other, ROWS), undefined)
})
