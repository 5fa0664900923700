import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wrongTime } from './wrong-time.ts'

test('the times of a message move by the offset, nothing else changes', () => {
  assert.equal(
    wrongTime('{"E":1790000000000,"a":1790000000,"T":1790000000001,"p":"1"}', 5),
    '{"E":1790000000005,"a":1790000000,"T":1790000000006,"p":"1"}',
  )
  assert.equal(wrongTime('{"timestamp":"1790000000000"}', -1_000), '{"timestamp":"1789999999000"}')
  assert.equal(wrongTime('{"ts":1790000000}'), '{"ts":1790086400}')
})

test('a message without a time has no wrong one', () => {
  assert.equal(wrongTime('{"result":null,"id":1}'), undefined)
})
