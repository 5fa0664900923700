import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NATIVE_SUBNETWORK, type SpentOutput, type Transaction } from '../core/chain/transaction.ts'
import { parseBlock } from './apply-block.ts'
import { eventBatch } from './batch.ts'
import { enterTransactions } from './enter-transactions.ts'

const PAY = `000020${'7b'.repeat(32)}ac`
const network = 'testnet-10'

function payment(): Transaction {
  return {
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
    outputs: [{ value: 5n, scriptPublicKey: PAY, covenant: null }],
    lockTime: 0n,
    subnetworkId: NATIVE_SUBNETWORK,
    gas: 0n,
    payload: '',
    storageMass: 0n,
  }
}

/** Stands for a transaction that makes the parser fail, because none is known that does. */
function failing(): Transaction {
  const transaction = payment()
  Object.defineProperty(transaction, 'payload', {
    get: () => {
      throw new RangeError('Maximum call stack size exceeded')
    },
  })
  return transaction
}

const spent: SpentOutput = {
  ...{ amount: 6n, scriptPublicKey: PAY, covenantId: null },
  ...{ isCoinbase: false, blockDaaScore: 1n },
}

test('a transaction that makes the parser fail is unreadable and keeps its plain facts; the others are as always', () => {
  const one = (txId: string, transaction: Transaction) => ({
    ...{ txId, transaction, spent: [spent], blockHash: 'aa'.repeat(32), blockTimeMs: 1 },
  })
  const { transactions, unreadable } = parseBlock(
    {
      ...{ hash: 'aa'.repeat(32), parents: undefined, blueScore: 1, daaScore: 1, timeMs: 1 },
      transactions: [one('first', failing()), one('second', payment())],
      acceptedIds: ['first', 'second'],
      unreadable: [],
    },
    network,
  )
  assert.deepEqual(unreadable, [{ txId: 'first', detail: 'RangeError: Maximum call stack size exceeded' }])
  const [first, second] = transactions
  assert.ok(first && second)
  const inputs = second.parsed.inputs.map((input) => ({ ...input, signed: null }))
  assert.deepEqual(first.parsed, { ...second.parsed, tx_id: 'first', inputs })
  assert.deepEqual([first.fee, second.fee, second.parsed.inputs[0]?.signed], [1n, 1n, true])
})

test('in the mempool it enters with its plain facts, too', async () => {
  const batch = eventBatch(network, 1)
  const seen = {
    ...{ txId: 'first', transaction: failing(), fee: 1n },
    ...{ isOrphan: false, firstSeen: 'mempool' as const },
  }
  const store = { outputs: async () => [spent] } as never
  const [entered] = await enterTransactions([seen], new Map(), { store, network, batch })
  assert.equal(entered?.effects.length, 1)
  assert.equal(batch.events.length, 1)
})
