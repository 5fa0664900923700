import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NATIVE_SUBNETWORK, type SpentOutput, type Transaction } from '../core/chain/transaction.ts'
import { genesisCovenantId } from './covenant-id.ts'
import { parseTransaction } from './parse-transaction.ts'

const PAY = `000020${'7b'.repeat(32)}ac`
const A = 'aa'.repeat(32)
const B = 'bb'.repeat(32)

function transaction(inputs: number, outputs: ([number, string] | null)[]): Transaction {
  return {
    version: 1,
    inputs: Array.from({ length: inputs }, (_, index) => ({
      previousOutpoint: { transactionId: 'cc'.repeat(32), index },
      signatureScript: `41${'00'.repeat(64)}01`,
      sequence: 0n,
      sigOpCount: 0,
      computeBudget: 10,
    })),
    outputs: outputs.map((binding) => ({
      value: 1000n,
      scriptPublicKey: PAY,
      covenant: binding && { authorizingInput: binding[0], covenantId: binding[1] },
    })),
    lockTime: 0n,
    subnetworkId: NATIVE_SUBNETWORK,
    gas: 0n,
    payload: '',
    storageMass: 0n,
  }
}

function spending(...ids: (string | null)[]): SpentOutput[] {
  return ids.map((covenantId) => ({
    amount: 1000n,
    scriptPublicKey: PAY,
    covenantId,
    isCoinbase: false,
    blockDaaScore: null,
  }))
}

function executed(of: Transaction, spent?: (SpentOutput | null)[]): string[] {
  const { details } = parseTransaction(of, { network: 'mainnet', ...(spent && { spent }) })
  return (details.covenant_execution?.actions ?? []).map(
    ({ kind, covenant_id, inputs, outputs, confidence }) =>
      `${kind} ${covenant_id.slice(0, 2)} ${inputs}>${outputs} ${confidence}`,
  )
}

/** Two outputs that found a covenant on the outpoint of input 1. */
function founding(): Transaction {
  const draft = transaction(2, [null, [1, A], null, [1, A]])
  const outpoint = draft.inputs[1]?.previousOutpoint
  assert.ok(outpoint)
  const group = [1, 3].flatMap((index) => {
    const output = draft.outputs[index]
    return output ? [{ index, output }] : []
  })
  const id = genesisCovenantId(outpoint, group)
  return transaction(2, [null, [1, id], null, [1, id]])
}

test('a genesis is recognised by its hash, with or without the spent outputs', () => {
  const genesis = founding()
  const id = genesis.outputs[1]?.covenant?.covenantId.slice(0, 2)
  assert.deepEqual(executed(genesis), [`genesis ${id} 1>1,3 certain`])
  assert.deepEqual(executed(genesis, spending(null, null)), [`genesis ${id} 1>1,3 certain`])
  assert.deepEqual(parseTransaction(genesis, { network: 'mainnet' }).tags, ['covenant', 'covenant_execution'])
})

test('a genesis with changed outputs is not recognised', () => {
  const genesis = founding()
  const changed = { ...genesis, outputs: genesis.outputs.map((output) => ({ ...output, value: 999n })) }
  assert.match(executed(changed)[0] ?? '', /^continuation .* likely$/)
})

test('a covenant may found another one while it continues', () => {
  const genesis = founding()
  const id = genesis.outputs[1]?.covenant?.covenantId ?? ''
  const both = { ...genesis, outputs: [...genesis.outputs, ...transaction(1, [[0, B]]).outputs] }
  assert.deepEqual(executed(both, spending(B, null)), [
    `genesis ${id.slice(0, 2)} 1>1,3 certain`,
    'continuation bb 0>4 certain',
  ])
})

test('continuations are certain when the spent id is known, likely otherwise', () => {
  const moved = transaction(2, [
    [0, A],
    [0, A],
    [1, B],
  ])
  assert.deepEqual(executed(moved), ['continuation aa 0>0,1 likely', 'continuation bb 1>2 likely'])
  assert.deepEqual(executed(moved, [...spending(A), null]), [
    'continuation aa 0>0,1 certain',
    'continuation bb 1>2 likely',
  ])
})

test('a covenant that no output carries on is burnt; one that is merged is not', () => {
  assert.deepEqual(executed(transaction(2, [null]), spending(A, A)), ['burn aa 0,1> certain'])
  assert.deepEqual(executed(transaction(2, [[0, A]]), spending(A, A)), ['continuation aa 0>0 certain'])
  assert.deepEqual(executed(transaction(2, [[0, A]]), spending(A, B)), [
    'continuation aa 0>0 certain',
    'burn bb 1> certain',
  ])
  assert.deepEqual(executed(transaction(1, [null])), [])
})

test('bindings that no node accepts execute nothing', () => {
  assert.deepEqual(executed(transaction(1, [[1, A]])), [])
  assert.deepEqual(executed(transaction(1, [[0, A]]), spending(B)), ['burn bb 0> certain'])
})
