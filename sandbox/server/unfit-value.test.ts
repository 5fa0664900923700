import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unfitValue } from './unfit-value.ts'

test('the first price of a message becomes negative, nothing else changes', () => {
  assert.equal(unfitValue('{"e":"kline","k":{"o":"1.5","c":"2"}}'), '{"e":"kline","k":{"o":"-1.5","c":"2"}}')
  assert.equal(unfitValue('[[1700000000000,"1.5","2"]]'), '[[1700000000000,"-1.5","2"]]')
  assert.equal(
    unfitValue('{"price_dollars":"0.5","delta_fp":"3"}'),
    '{"price_dollars":"-0.5","delta_fp":"3"}',
  )
})

test('a message without a price has no unfit value', () => {
  assert.equal(unfitValue('{"result":null,"id":1}'), undefined)
})
