import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeAddress } from '../../../core/chain/address.ts'
import type { ChainData } from './chain-data.ts'
import { pendingBalance } from './pending-balance.ts'

const KEY = Buffer.alloc(32, 7)
const ADDRESS = encodeAddress({ prefix: 'kaspatest', version: 0, payload: KEY })
const id = (n: number) => n.toString(16).padStart(64, '0')

function entry(txId: string, spends: { transactionId: string; index: number }, values: readonly number[]) {
  const [own, ...others] = values
  const output = (value: number | undefined, key: string) => ({
    value,
    scriptPublicKey: `000020${key}ac`,
    covenant: null,
  })
  const transaction = {
    version: 0,
    inputs: [{ previousOutpoint: spends, signatureScript: '', sequence: 0, sigOpCount: 1 }],
    outputs: [
      ...others.map((value) => output(value, '09'.repeat(32))),
      ...(own ? [output(own, KEY.toString('hex'))] : []),
    ],
    lockTime: 0,
    subnetworkId: '00'.repeat(20),
    gas: 0,
    payload: '',
    mass: 0,
    verboseData: { transactionId: txId },
  }
  return { fee: 1, transaction, isOrphan: false }
}

test('a pending transaction that spends the change of another is counted before the index has seen either', async () => {
  // 100 of our own: 30 are paid and 70 return; then 20 of the 70 are paid and 50 return.
  const first = entry(id(1), { transactionId: id(9), index: 0 }, [70, 30])
  const second = entry(id(2), { transactionId: id(1), index: 1 }, [50, 20])
  const entries = [{ address: ADDRESS, sending: [second, first], receiving: [second, first] }]
  const bytes = Buffer.from(JSON.stringify({ entries }))
  const asked: unknown[] = []
  const chain = {
    upstreams: { network: 'testnet-10', callRaw: async () => ({ ok: true, bytes, node: 'n' }) },
    waitMs: 1_000,
    index: {
      outputs: async (points: unknown[]) => {
        asked.push(...points)
        return points.map(() => undefined)
      },
    },
    utxos: {
      async *of() {
        yield { txId: id(9), index: 0, amount: 100 }
      },
    },
  } as unknown as ChainData
  assert.deepEqual(await pendingBalance(ADDRESS, chain), { incoming: 120n, outgoing: 170n, transactions: 2 })
  assert.deepEqual(asked, [{ txId: id(9), index: 0 }])
})
