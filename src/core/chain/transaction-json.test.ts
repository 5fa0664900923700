import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSpentOutputs, readTransaction, writeTransaction } from './transaction-json.ts'

const ID = 'ab'.repeat(32)
const KEY = `000020${'7b'.repeat(32)}ac`
const MAX = 18446744073709551615n

const classic = () => ({
  version: 0,
  inputs: [
    {
      previousOutpoint: { transactionId: ID, index: 4294967295 },
      signatureScript: '4101',
      sequence: MAX as unknown,
      sigOpCount: 1 as unknown,
    },
  ],
  outputs: [{ value: '18446744073709551615' as unknown, scriptPublicKey: KEY as unknown }],
  lockTime: 0 as unknown,
  subnetworkId: '00'.repeat(20),
  gas: 0,
  payload: '',
  mass: 10001,
})

const bound = () => ({
  ...classic(),
  version: 1,
  inputs: [
    {
      previousOutpoint: { transactionId: ID, index: 0 },
      signatureScript: '',
      sequence: 0,
      sigOpCount: 0,
      computeBudget: 65535,
    },
  ],
  outputs: [
    { value: 1, scriptPublicKey: KEY, covenant: { authorizingInput: 0, covenantId: ID.toUpperCase() } },
  ],
})

function faultsOf(json: unknown): string[] {
  const read = readTransaction(json)
  assert.equal(read.ok, false)
  return read.ok ? [] : read.faults.map((fault) => fault.path)
}

test('64-bit values stay exact from bigint, number and text, and are written as bigints', () => {
  const read = readTransaction(classic())
  assert.ok(read.ok)
  assert.equal(read.transaction.inputs[0]?.sequence, MAX)
  assert.equal(read.transaction.outputs[0]?.value, MAX)
  assert.equal(read.transaction.storageMass, 10001n)
  const written = writeTransaction(read.transaction)
  assert.equal(written.inputs[0]?.sequence, MAX)
  assert.equal(written.mass, 10001n)
  assert.equal(written.storageMass, 10001n)
  assert.deepEqual(readTransaction(written), read)
})

test('a version 1 transaction keeps its covenant and budget', () => {
  const read = readTransaction(bound())
  assert.ok(read.ok)
  assert.deepEqual(read.transaction.outputs[0]?.covenant, { authorizingInput: 0, covenantId: ID })
  assert.equal(read.transaction.inputs[0]?.computeBudget, 65535)
  assert.deepEqual(readTransaction(writeTransaction(read.transaction)), read)
})

test('the object form of a script public key leaves as hex', () => {
  const json = classic()
  json.outputs[0] = { value: 5, scriptPublicKey: { version: 0, script: KEY.slice(4) } }
  const read = readTransaction(json)
  assert.ok(read.ok)
  assert.equal(writeTransaction(read.transaction).outputs[0]?.scriptPublicKey, KEY)
})

test('every fault is listed with its path', () => {
  const faults = faultsOf({
    version: 0,
    inputs: [{ previousOutpoint: { transactionId: 'ab', index: -1 }, signatureScript: 'x', sequence: 1.5 }],
    outputs: [{ value: 2 ** 60, scriptPublicKey: { version: '0', script: '' } }, 7],
    lockTime: '01',
    subnetworkId: '00',
    gas: null,
    storageMass: 1,
    mass: 2,
  })
  assert.deepEqual(faults, [
    'transaction.inputs[0].previousOutpoint.transactionId',
    'transaction.inputs[0].previousOutpoint.index',
    'transaction.inputs[0].signatureScript',
    'transaction.inputs[0].sequence',
    'transaction.inputs[0].sigOpCount',
    'transaction.outputs[0].scriptPublicKey',
    'transaction.outputs[0].value',
    'transaction.outputs[1]',
    'transaction.outputs[1].scriptPublicKey',
    'transaction.outputs[1].value',
    'transaction.lockTime',
    'transaction.subnetworkId',
    'transaction.gas',
    'transaction.payload',
    'transaction.mass',
  ])
})

test('what the node would refuse by version is refused here', () => {
  const counted = bound()
  counted.inputs[0] = { ...counted.inputs[0], sigOpCount: 1 } as (typeof counted.inputs)[0]
  assert.deepEqual(faultsOf(counted), ['transaction.inputs[0].sigOpCount'])
  assert.deepEqual(faultsOf({ ...bound(), version: 0 }), [
    'transaction.inputs[0].computeBudget',
    'transaction.outputs[0].covenant',
  ])
  assert.deepEqual(faultsOf({ ...classic(), version: 2, inputs: [] }), ['transaction.version'])
})

test('a value above 64 bits, a rounded number and an oversized list are refused', () => {
  const json = classic()
  json.lockTime = '18446744073709551616'
  assert.deepEqual(faultsOf(json), ['transaction.lockTime'])
  json.lockTime = 18446744073709552000
  assert.deepEqual(faultsOf(json), ['transaction.lockTime'])
  assert.deepEqual(faultsOf({ ...classic(), inputs: Array(1001).fill(classic().inputs[0]) }), [
    'transaction.inputs',
  ])
  assert.deepEqual(faultsOf({ ...classic(), payload: '00'.repeat(250_001) }), ['transaction.payload'])
})

test('the list of faults is bounded, and no value makes the reader throw', () => {
  assert.equal(faultsOf({ ...classic(), outputs: Array(1000).fill(null) }).length, 20)
  for (const value of [
    null,
    undefined,
    0,
    '',
    'x',
    [],
    [[]],
    true,
    { inputs: null, outputs: {} },
    5n,
    Symbol.iterator,
  ]) {
    assert.equal(readTransaction(value).ok, false)
    assert.deepEqual(readSpentOutputs(value), [])
  }
})

test('resolved inputs are read where the node gave them', () => {
  const entry = { amount: 5n, scriptPublicKey: KEY, covenantId: ID, isCoinbase: false, blockDaaScore: 7 }
  const json = {
    inputs: [
      { verboseData: { utxoEntry: entry } },
      { verboseData: null },
      null,
      { verboseData: { utxoEntry: {} } },
    ],
  }
  assert.deepEqual(readSpentOutputs(json), [
    { amount: 5n, scriptPublicKey: KEY, covenantId: ID, isCoinbase: false, blockDaaScore: 7n },
    null,
    null,
    { amount: null, scriptPublicKey: null, covenantId: null, isCoinbase: null, blockDaaScore: null },
  ])
})
