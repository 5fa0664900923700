import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../../test/fakes/manual-clock.ts'
import { encodeAddress } from '../../../core/chain/address.ts'
import { systemClock } from '../../../kit/clock.ts'
import { balanceNow } from './address-balance.ts'
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

async function* unspent(...txIds: string[]) {
  for (const txId of txIds) yield { txId, index: 0, amount: 100 }
}

test('a pending transaction that spends the change of another is counted before the index has seen either', async () => {
  // The address has 100: it pays 30 and gets 70 back, then pays 20 of these 70 and gets 50 back.
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
      onNode: async (_: string, node: string) => ({ node, utxos: unspent(id(9)) }),
    },
  } as unknown as ChainData
  const found = { incoming: 120n, outgoing: 170n, transactions: 2, node: 'n', isOfOne: true }
  assert.deepEqual(await pendingBalance(ADDRESS, chain, 'n'), found)
  assert.deepEqual(asked, [{ txId: id(9), index: 0 }])
})

test('the balance now is that of one node at one moment', async () => {
  const paid = entry(id(1), { transactionId: id(9), index: 0 }, [70, 30])
  // `ahead` has accepted what is still in the mempool of `behind`.
  const nodes = {
    ahead: { balance: 170, pending: [] as object[] },
    behind: { balance: 100, pending: [paid] as object[] },
  }
  const answering: ('ahead' | 'behind')[] = []
  const calls: (string | undefined)[] = []
  const next = () => answering.shift() ?? 'behind'
  const chain = {
    upstreams: {
      network: 'testnet-10',
      nodes: () => [],
      call: async (_: string, __: object, { stayOn }: { stayOn?: string }) => {
        calls.push(stayOn)
        const node = next()
        return { ok: true, value: { balance: nodes[node].balance }, node }
      },
      callRaw: async (_: string, __: object, { stayOn }: { stayOn?: string }) => {
        calls.push(stayOn)
        const node = next()
        const entries = [{ address: ADDRESS, sending: [], receiving: nodes[node].pending }]
        return { ok: true, bytes: Buffer.from(JSON.stringify({ entries })), node }
      },
    },
    waitMs: 1_000,
    clock: systemClock,
    index: { outputs: async () => [] },
  } as unknown as ChainData
  answering.push('ahead', 'behind', 'behind')
  const { confirmed, pending } = await balanceNow(ADDRESS, chain)
  assert.deepEqual([confirmed, pending.incoming], [100n, 70n])
  assert.deepEqual(calls, [undefined, 'ahead', 'behind', 'behind', 'behind'])
  answering.push('ahead', 'behind', 'ahead', 'behind', 'ahead', 'behind', 'ahead')
  await assert.rejects(balanceNow(ADDRESS, chain), { kind: 'upstream_unavailable' })
  // Accepted while the mempool was being read.
  answering.length = 0
  const { callRaw } = chain.upstreams
  Object.assign(chain.upstreams, {
    callRaw: async (...asked: Parameters<typeof callRaw>) => {
      const read = await callRaw(...asked)
      Object.assign(nodes.behind, nodes.ahead)
      return read
    },
  })
  const later = await balanceNow(ADDRESS, chain)
  assert.deepEqual([later.confirmed, later.pending.incoming], [170n, 0n])
})

test('the tries of a balance share one list of unspent outputs, one time limit and their caller', async () => {
  const clock = manualClock(0)
  const spending = entry(id(1), { transactionId: id(9), index: 0 }, [0, 30])
  const bytes = Buffer.from(
    JSON.stringify({ entries: [{ address: ADDRESS, sending: [spending], receiving: [] }] }),
  )
  let [lists, callMs, balance] = [0, 0, 100]
  const deadlines: number[] = []
  type Limits = { deadlineMs: number; isAbandoned: () => boolean }
  const answered = (answer: object) => async (_: string, __: object, options: Limits) => {
    deadlines.push(options.deadlineMs)
    clock.advance(callMs)
    const failure = { kind: 'cancelled', detail: '' }
    return options.isAbandoned() ? { ok: false, failure } : { ok: true, node: 'n', ...answer }
  }
  const chain = {
    upstreams: {
      nodes: () => [],
      call: (...asked: Parameters<ReturnType<typeof answered>>) =>
        answered({ value: { balance: balance++ } })(...asked),
      callRaw: answered({ bytes }),
    },
    ...{ waitMs: 1_000, clock },
    index: { outputs: async () => [undefined] },
    utxos: {
      onNode: async (_: string, node: string, withinMs: number) => {
        lists++
        deadlines.push(withinMs)
        return { node, utxos: unspent(id(9)) }
      },
    },
  } as unknown as ChainData
  const { pending } = await balanceNow(ADDRESS, chain)
  assert.deepEqual([pending.outgoing, lists, deadlines.length], [100n, 1, 8])
  callMs = 400
  deadlines.length = 0
  await assert.rejects(balanceNow(ADDRESS, chain), { kind: 'upstream_timeout' })
  assert.deepEqual(deadlines, [1_000, 600, 200, 200])
  await assert.rejects(
    balanceNow(ADDRESS, chain, () => true),
    { kind: 'upstream_error' },
  )
})

test('only a sum of the unspent outputs is needed: they are read until it is complete', async () => {
  const spending = entry(id(1), { transactionId: id(9), index: 0 }, [0, 30])
  const entries = [{ address: ADDRESS, sending: [spending], receiving: [] }]
  let read = 0
  const chain = {
    upstreams: {
      callRaw: async () => ({ ok: true, bytes: Buffer.from(JSON.stringify({ entries })), node: 'n' }),
    },
    waitMs: 1_000,
    index: { outputs: async () => [undefined] },
    utxos: {
      of: () => assert.fail('refuses long lists'),
      onNode: async () => ({
        node: 'n',
        utxos: (async function* () {
          for await (const utxo of unspent(id(8), id(9), id(10))) {
            read++
            yield utxo
          }
        })(),
      }),
    },
  } as unknown as ChainData
  assert.equal((await pendingBalance(ADDRESS, chain, 'n')).outgoing, 100n)
  assert.equal(read, 2)
})
