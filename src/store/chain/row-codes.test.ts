import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DIRECTIONS, directionOf } from './row-codes.ts'

test('directions are read as they were written; the code of unsigned losses is a send', () => {
  for (const direction of DIRECTIONS) assert.equal(directionOf(DIRECTIONS.indexOf(direction)), direction)
  assert.equal(directionOf(3), 'send')
})
