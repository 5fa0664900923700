import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kaspaFixture, skipWithoutKaspa, transactionOf } from '../../test/kaspa-fixtures.ts'
import { mainnetClassicTransactions } from '../../test/kaspa-grpc.ts'
import type { SpentOutput, Transaction } from '../core/chain/transaction.ts'
import { feeMass, minimumFee } from './minimum-fee.ts'
import { storageCell, storageMass, storageMassOfCells } from './storage-mass.ts'
import { computeMass, estimatedSize, normalisedTransientMass, transientMass } from './transaction-mass.ts'

const KEY = `000020${'7b'.repeat(32)}ac`

/** One signed input, two outputs: the everyday payment. */
const PAYMENT: Transaction = {
  version: 0,
  inputs: [
    {
      previousOutpoint: { transactionId: 'cc'.repeat(32), index: 0 },
      signatureScript: `41${'00'.repeat(65)}`,
      sequence: 0n,
      sigOpCount: 1,
      computeBudget: 0,
    },
  ],
  outputs: [
    { value: 10_000_000n, scriptPublicKey: KEY, covenant: null },
    { value: 89_000_000n, scriptPublicKey: KEY, covenant: null },
  ],
  lockTime: 0n,
  subnetworkId: '00'.repeat(20),
  gas: 0n,
  payload: '',
  storageMass: 0n,
}

const spentOf = (amount: bigint, covenantId: string | null = null): SpentOutput => ({
  amount,
  scriptPublicKey: KEY,
  covenantId,
  isCoinbase: false,
  blockDaaScore: null,
})

test('the everyday payment weighs 2036 grams and costs at least 203600 sompi', () => {
  assert.equal(computeMass(PAYMENT), 2036)
  assert.equal(transientMass(PAYMENT), 4 * estimatedSize(PAYMENT))
  assert.equal(normalisedTransientMass(PAYMENT), 2 * estimatedSize(PAYMENT))
  assert.equal(minimumFee(PAYMENT), 203_600n)
  assert.equal(feeMass(PAYMENT, 10_000n), 10_000n)
  assert.equal(feeMass(PAYMENT, 1n), 2036n)
})

test('a large payload is paid by size, twice its bytes', () => {
  const large = { ...PAYMENT, payload: '00'.repeat(20_000) }
  assert.equal(minimumFee(large), BigInt(200 * estimatedSize(large)))
})

test('version 1 counts compute budgets and covenant bytes', () => {
  const input = PAYMENT.inputs[0]
  assert.ok(input)
  const bound: Transaction = {
    ...PAYMENT,
    version: 1,
    inputs: [{ ...input, sigOpCount: 0, computeBudget: 10 }],
    outputs: PAYMENT.outputs.map((output) => ({
      ...output,
      covenant: { authorizingInput: 0, covenantId: 'ab'.repeat(32) },
    })),
  }
  assert.equal(estimatedSize(bound), estimatedSize(PAYMENT) + 2 + 2 * 34)
  assert.equal(computeMass(bound), 2036 + 2 + 68)
})

test('recorded mainnet transactions have the compute mass that the node gave', {
  skip: skipWithoutKaspa,
}, () => {
  let checked = 0
  for (const { recorded, transaction } of mainnetClassicTransactions()) {
    assert.equal(computeMass(transaction), Number(recorded.verboseData.mass ?? 0))
    checked++
  }
  assert.equal(checked, 10)
})

test('the recorded covenant transaction has its compute mass, its left-out script added', {
  skip: skipWithoutKaspa,
}, () => {
  const json = kaspaFixture<{
    verboseData: { computeMass: number }
    inputs: { signatureScriptOmittedBytes?: number }[]
  }>('tx/mainnet-v1-covenant-token-buy.wrpc.json')
  const omitted = json.inputs[0]?.signatureScriptOmittedBytes ?? 0
  assert.equal(computeMass(transactionOf(json)) + omitted, json.verboseData.computeMass)
})

test('all published storage masses hold', { skip: skipWithoutKaspa }, () => {
  const vectors = kaspaFixture<{ storageMass: { inputs: number[]; outputs: number[]; expected: number }[] }>(
    'vectors/mass-vectors.json',
  )
  assert.equal(vectors.storageMass.length, 4)
  const cells = (amounts: number[]) => amounts.map((amount) => storageCell(BigInt(amount), KEY, false))
  for (const vector of vectors.storageMass) {
    assert.equal(storageMassOfCells(cells(vector.inputs), cells(vector.outputs)), BigInt(vector.expected))
  }
})

test('storage mass follows the amounts, and is unknown without the spent outputs', () => {
  assert.equal(storageMass(PAYMENT, [spentOf(100_000_000n)]), 101_235n)
  assert.equal(storageMass(PAYMENT, []), null)
  assert.equal(storageMass(PAYMENT, [null]), null)
  assert.equal(storageMass(PAYMENT, [{ ...spentOf(1n), amount: null }]), null)
  const zero = { ...PAYMENT, outputs: [{ value: 0n, scriptPublicKey: KEY, covenant: null }] }
  assert.equal(storageMass(zero, [spentOf(1n)]), null)
})

test('a covenant id makes an output of standard length count double, which weighs four times', () => {
  assert.equal(storageCell(1n, KEY, false).units, 1n)
  assert.equal(storageCell(1n, KEY, true).units, 2n)
  const amount = 100_000_000n
  const plain = [storageCell(amount, KEY, false)]
  const bound = [storageCell(amount, KEY, true)]
  assert.equal(storageMassOfCells(plain, bound), 30_000n)
})

test('coinbase transactions have no mass', () => {
  const coinbase = { ...PAYMENT, inputs: [], subnetworkId: `01${'00'.repeat(19)}` }
  assert.equal(computeMass(coinbase), 0)
  assert.equal(transientMass(coinbase), 0)
  assert.equal(storageMass(coinbase, []), 0n)
})
