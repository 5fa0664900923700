import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTurns } from '../../../../test/fakes/count-turns.ts'
import { encodeAddress } from '../../../core/chain/address.ts'
import { readTransaction } from '../../../core/chain/transaction-json.ts'
import { useTurnTime } from '../../../kit/turns.ts'
import { transactionId } from '../../../parser/transaction-id.ts'
import { inMempool } from './address-activity.ts'
import type { ChainData } from './chain-data.ts'
import { knownOutputs } from './known-spent.ts'
import { unindexed } from './transaction.ts'

const ADDRESS = encodeAddress({ prefix: 'kaspatest', version: 0, payload: Buffer.alloc(32, 7) })
const SCRIPT = `000020${'07'.repeat(32)}ac`
const INDEXED = 'c'.repeat(64)
const TX_ID = 'a'.repeat(64)

/** Spends 45 outputs; the index has those of one transaction. */
const transaction = {
  ...{ version: 0, lockTime: 0, subnetworkId: '00'.repeat(20), gas: 0, payload: '', mass: 0 },
  inputs: Array.from({ length: 45 }, (_, index) => ({
    previousOutpoint: { transactionId: index % 2 === 0 ? INDEXED : 'd'.repeat(64), index },
    ...{ signatureScript: '', sequence: 0, sigOpCount: 1 },
  })),
  outputs: [{ value: 5, scriptPublicKey: SCRIPT, covenant: null }],
  verboseData: { transactionId: TX_ID },
}
const bytes = Buffer.from(
  JSON.stringify({ entries: [{ address: ADDRESS, sending: [{ transaction }], receiving: [] }] }),
)
const value = { mempoolEntry: { fee: 5, is_orphan: false, transaction } }
const outputs = async (points: readonly { txId: string; index: number }[]) => {
  return points.map(({ txId, index }) =>
    txId === INDEXED ? { amount: BigInt(index), scriptPublicKey: SCRIPT, covenantId: null } : undefined,
  )
}
const chain = {
  upstreams: {
    network: 'testnet-10',
    callRaw: async () => ({ ok: true, bytes, node: 'n' }),
    call: async () => ({ ok: true, value, node: 'n' }),
  },
  index: { outputs, transaction: async () => undefined },
  waitMs: 1_000,
} as unknown as ChainData

const inputsOf = (parsed: { inputs: { address: string | null; amount_sompi: number | null }[] }) =>
  parsed.inputs.map(({ address, amount_sompi }) => [address, amount_sompi])
const EXPECTED = transaction.inputs.map(({ previousOutpoint: { index } }) =>
  index % 2 === 0 ? [ADDRESS, index] : [null, null],
)

test('activity names the sender of a pending transaction where the index knows what it spends', async () => {
  const { items } = await inMempool(ADDRESS, 10, chain)
  assert.deepEqual(inputsOf(JSON.parse(items[0] ?? '').parsed), EXPECTED)
})

test('a transaction found in the mempool alone names its sender as well', async () => {
  const read = readTransaction(transaction)
  assert.ok(read.ok)
  const { members } = await unindexed(transactionId(read.transaction), chain)
  assert.deepEqual(inputsOf(JSON.parse(members.parsed ?? '')), EXPECTED)
})

test('each transaction that is spent from is read once, and many are read in turns of the loop', async (t) => {
  let timeMs = 0
  t.after(useTurnTime(() => timeMs))
  const asked: string[] = []
  const index = {
    async outputs(points: readonly { txId: string; index: number }[]) {
      // As if each of them had a thousand outputs.
      timeMs += 5
      asked.push(...new Set(points.map(({ txId }) => txId)))
      return points.map(({ index }) => ({ amount: BigInt(index), scriptPublicKey: SCRIPT, covenantId: null }))
    },
  }
  const points = Array.from({ length: 90 }, (_, n) => ({ transactionId: `${n % 30}`, index: n }))
  const { turns, result } = await countTurns(() => knownOutputs(points, index))
  assert.deepEqual(
    asked,
    Array.from({ length: 30 }, (_, n) => `${n}`),
  )
  assert.ok(turns >= 29, `${turns} turns of the loop`)
  assert.deepEqual(
    result.map((output) => output?.amount),
    points.map((_, n) => BigInt(n)),
  )
})
