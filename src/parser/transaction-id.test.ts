import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kaspaFixture, kaspaLines, skipWithoutKaspa, transactionOf } from '../../test/kaspa-fixtures.ts'
import { mainnetClassicTransactions } from '../../test/kaspa-grpc.ts'
import { NATIVE_SUBNETWORK, type Transaction } from '../core/chain/transaction.ts'
import { transactionId } from './transaction-id.ts'

const EMPTY: Transaction = {
  version: 0,
  inputs: [],
  outputs: [],
  lockTime: 0n,
  subnetworkId: NATIVE_SUBNETWORK,
  gas: 0n,
  payload: '',
  storageMass: 0n,
}

test('the empty transaction has the published id', () => {
  assert.equal(transactionId(EMPTY), '2c18d5e59ca8fc4c23d9560da3bf738a8f40935c11c162017fbf2c907b7e665c')
})

test('all published id vectors of both versions hold', { skip: skipWithoutKaspa }, () => {
  interface Vector {
    n: number
    tx: { version: number; inputs: object[] }
    expectedId: string
  }
  const vectors = kaspaFixture<Vector[]>('vectors/txid-vectors.json')
  assert.equal(vectors.length, 12)
  for (const vector of vectors) {
    // The vectors keep a signature operation count in version 1, where it is not part of any hash.
    const inputs = vector.tx.inputs.map((input) =>
      vector.tx.version === 0 ? input : { ...input, sigOpCount: 0 },
    )
    const transaction = transactionOf({ ...vector.tx, inputs })
    assert.equal(transactionId(transaction), vector.expectedId, `vector ${vector.n}`)
  }
})

test('recorded mainnet transactions of version 0 have their real id', {
  skip: skipWithoutKaspa,
}, () => {
  const all = mainnetClassicTransactions()
  assert.equal(all.length, 10)
  for (const { recorded, transaction } of all) {
    assert.equal(transactionId(transaction), recorded.verboseData.transactionId)
  }
})

test('a recorded mainnet covenant transaction has its real id', { skip: skipWithoutKaspa }, () => {
  const transaction = transactionOf(kaspaFixture('tx/mainnet-v1-covenant-token-buy.wrpc.json'))
  assert.equal(transactionId(transaction), '1b8ac51c7211988f36d402d6b457ea564fe8642fb3750e3638b6f3f23b334469')
})

test('signatures and masses never change the id', () => {
  for (const version of [0, 1]) {
    const input = {
      previousOutpoint: { transactionId: '11'.repeat(32), index: 0 },
      signatureScript: '41',
      sequence: 0n,
      sigOpCount: version === 0 ? 1 : 0,
      computeBudget: version,
    }
    const before: Transaction = { ...EMPTY, version, inputs: [input] }
    const after: Transaction = {
      ...before,
      inputs: [{ ...input, signatureScript: '4142', computeBudget: version * 7 }],
      storageMass: 9n,
    }
    assert.equal(transactionId(after), transactionId(before))
  }
})

interface RecordedBlock {
  transactions: unknown[]
}

test('every recorded block: every spent id is one computed before', {
  skip: skipWithoutKaspa,
}, () => {
  const [, ...blocks] = kaspaLines<RecordedBlock>('blocks/goref-1060-tx-265-blocks.jsonl.gz')
  assert.equal(blocks.length, 266)
  const known = new Set<string>()
  const spends: string[] = []
  let transactions = 0
  for (const block of blocks) {
    const parsed = block.transactions.map(transactionOf)
    for (const transaction of parsed) {
      known.add(transactionId(transaction))
      for (const input of transaction.inputs) spends.push(input.previousOutpoint.transactionId)
      transactions++
    }
  }
  assert.ok(transactions > 400, String(transactions))
  assert.ok(spends.length >= 223)
  assert.deepEqual(
    spends.filter((id) => !known.has(id)),
    [],
  )
})
