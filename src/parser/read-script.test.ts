import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOfHex, hexOfBytes } from '../core/chain/hex.ts'
import { readPushes, readScript } from './read-script.ts'

const pushes = (hex: string) => readPushes(bytesOfHex(hex))?.map(hexOfBytes)

test('all forms of a push are read', () => {
  assert.deepEqual(pushes('00'), [''])
  assert.deepEqual(pushes('02abcd'), ['abcd'])
  assert.deepEqual(pushes('4c02abcd'), ['abcd'])
  assert.deepEqual(pushes('4d0200abcd'), ['abcd'])
  assert.deepEqual(pushes('4e02000000abcd'), ['abcd'])
  assert.deepEqual(pushes('4f5160'), ['81', '01', '10'])
  assert.deepEqual(pushes('4c00'), [''])
  assert.deepEqual(pushes(''), [])
})

test('a push that is cut short makes the bytes no script', () => {
  for (const hex of [
    '01',
    '02ab',
    '4b00',
    '4c',
    '4c01',
    '4d',
    '4d01',
    '4d0100',
    '4e010000',
    '4effffffff00',
  ]) {
    assert.equal(readScript(bytesOfHex(hex)), undefined, hex)
  }
})

test('anything but pushes is not push-only', () => {
  for (const hex of ['51ac', '50', '61', '0101b9']) assert.equal(pushes(hex), undefined, hex)
})

test('more pushes than a stack may hold are refused without being listed', () => {
  assert.equal(pushes('51'.repeat(244))?.length, 244)
  assert.equal(pushes('51'.repeat(245)), undefined)
})

test('positions outside a script have no instruction', () => {
  const script = readScript(bytesOfHex('0151ac'))
  assert.ok(script)
  assert.equal(script.op(-1), 0xac)
  assert.equal(script.op(2), undefined)
  assert.equal(script.op(-3), undefined)
  assert.equal(script.data(1), undefined)
  assert.equal(script.isPush(2), false)
})
