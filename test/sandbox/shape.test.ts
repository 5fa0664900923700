import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shapeDifferences, shapeKey } from './shape.ts'

test('a missing key, a new key and another type are each a difference', () => {
  assert.deepEqual(shapeDifferences({ a: 1, b: 'x' }, { a: 2, b: 'y' }), [])
  assert.deepEqual(shapeDifferences({ a: 1 }, {}), ['$.a: missing'])
  assert.deepEqual(shapeDifferences({}, { a: 1 }), ['$.a: not expected'])
  assert.deepEqual(shapeDifferences({ a: '1' }, { a: 1 }), ['$.a: string expected, number found'])
  assert.deepEqual(shapeDifferences({ a: null }, { a: 1 }), ['$.a: null expected, number found'])
})

test('tuples are compared by position, lists by whether each shape occurs', () => {
  assert.deepEqual(shapeDifferences([1, 'a'], ['a', 1]).length, 2)
  assert.deepEqual(shapeDifferences([1, 'a'], [1]), ['$: 2 elements expected, 1 found'])
  assert.deepEqual(shapeDifferences([{ a: 1 }, { b: 1 }], [{ b: 2 }, { a: 2 }]), [])
  assert.deepEqual(shapeDifferences(['1'], [1]), ['$[0]: string expected, number found'])
  assert.deepEqual(shapeDifferences([{ a: 1 }], []), ['$: empty, but elements expected'])
})

test('exceptions are by key', () => {
  assert.deepEqual(shapeDifferences({ a: 1 }, { b: 1 }, { mayLack: ['a'], mayAdd: ['b'] }), [])
})

test('values of the same shape have the same key', () => {
  assert.equal(
    shapeKey({ b: [['1', '2']], a: 1 }),
    shapeKey({
      a: 5,
      b: [
        ['3', '4'],
        ['5', '6'],
      ],
    }),
  )
  assert.notEqual(shapeKey({ a: 1 }), shapeKey({ a: '1' }))
})
