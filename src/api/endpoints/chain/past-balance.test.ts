import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storesIn } from '../../../../test/fakes/stores.ts'
import type { ApiError } from '../../../core/errors.ts'
import { systemClock } from '../../../kit/clock.ts'
import { address, block, payment, writeNext } from '../../../store/conformance/chain-engine.ts'
import { createPastBalances } from './past-balance.ts'

/**
 * An index and a node, both at block 100; `onBalance` runs when the node is asked for the balance. The index then
 * advances by five blocks, and the node advances once it has been asked for its score.
 */
async function rig({ onBalance = async () => {}, waitMs = 3_000 } = {}) {
  const { chain, close } = storesIn(':memory:').chain('test')
  const startMs = systemClock.now() - 100_000
  const at = (n: number) => startMs + n * 1_000
  const pay = (tx: number, n: number) => ({ ...payment(tx, 1, 2n ** 61n), blockTimeMs: at(n) })
  const own = (n: number, txs: readonly number[] = []) => ({
    ...block(
      n,
      txs.map((tx) => pay(tx, n)),
    ),
    timeMs: at(n),
  })
  await writeNext(chain, { atMs: 1, start: own(10), added: [own(20, [1]), own(30, [2]), own(100)] })
  const state = { balance: 0n, score: 100, isFollowed: true }
  const nodes: Record<string, { balance: bigint; score: number }> = { n: state }
  /** The nodes that answer, one per call; the last one answers all further calls. */
  const answering = ['n']
  let wasAsked = false
  const answer = async (method: string, name: string) => {
    if (method === 'getBalanceByAddress') {
      await onBalance()
      wasAsked = true
      if (state.isFollowed) await writeNext(chain, { atMs: 2, added: [own(state.score + 5)] })
      return { balance: nodes[name]?.balance }
    }
    const blueScore = nodes[name]?.score
    if (wasAsked && state.isFollowed) state.score += 5
    wasAsked = false
    return { blueScore }
  }
  const balances = createPastBalances({
    upstreams: {
      nodes: () => [],
      call: async (method) => {
        const [node = ''] = answering.length > 1 ? answering.splice(0, 1) : answering
        const value = await answer(method, node)
        return { ok: true, value: value as never, node, attempts: 1, inDoubt: false }
      },
    },
    index: chain,
    clock: systemClock,
    waitMs,
  })
  return {
    chain,
    close,
    at,
    own,
    state,
    nodes,
    answering,
    balances,
    balanceAt: (n: number) => balances.at(address(1), at(n)),
  }
}

const refused =
  (kind: string, reason: string, rest: Record<string, unknown> = {}) =>
  (error: unknown) => {
    const { kind: found, detail } = error as ApiError
    assert.deepEqual([found, detail.reason], [kind, reason])
    for (const [name, value] of Object.entries(rest)) assert.deepEqual(detail[name], value, name)
    return true
  }

test('a past balance is what the node has now less what came later, to the last digit', async (t) => {
  const { close, state, balanceAt } = await rig()
  t.after(close)
  state.balance = 2n ** 62n + 7n
  assert.equal(await balanceAt(30), 2n ** 62n + 7n, 'the block itself counts')
  assert.equal(await balanceAt(29), 2n ** 61n + 7n)
  assert.equal(await balanceAt(19), 7n)
})

test('what moves while node and index are compared is not counted twice', async (t) => {
  let moves = 1
  const { close, chain, own, state, balanceAt } = await rig({
    onBalance: async () => {
      if (moves-- <= 0) return
      // Accepted after the index was read: the node has it, and the index receives it before it has caught up.
      state.balance += 2n ** 61n
      await writeNext(chain, { atMs: 2, added: [{ ...own(101, [3]), timeMs: systemClock.now() }] })
    },
  })
  t.after(close)
  state.balance = 2n ** 62n
  assert.equal(await balanceAt(50), 2n ** 62n)
})

test('a node that is behind the index, or whose score another one gave, is not compared with it', async (t) => {
  const { close, chain, own, state, nodes, answering, balanceAt } = await rig({ waitMs: 300 })
  t.after(close)
  await writeNext(chain, { atMs: 2, added: [own(101, [3])] })
  Object.assign(state, { balance: 3n * 2n ** 61n, score: 101 })
  nodes.behind = { balance: 2n ** 62n, score: 100 }
  answering.unshift('behind', 'behind', 'behind')
  assert.equal(await balanceAt(50), 2n ** 62n)
  answering.unshift('n', 'behind', 'n')
  assert.equal(await balanceAt(50), 2n ** 62n)
  answering.unshift('n', 'n', 'behind')
  assert.equal(await balanceAt(50), 2n ** 62n)
  state.isFollowed = false
  answering.unshift(...Array.from({ length: 3 }, () => ['n', 'behind', 'n']).flat())
  await assert.rejects(balanceAt(50), refused('upstream_unavailable', 'unavailable'))
  answering.splice(0, answering.length, 'behind')
  await assert.rejects(balanceAt(50), refused('upstream_unavailable', 'nodes_behind'))
})

test('times that are not covered, an index that is behind and a busy address are refused with the reason', async (t) => {
  const { close, chain, at, own, state, balances, balanceAt } = await rig({ waitMs: 300 })
  t.after(close)
  const from = new Date(at(10)).toISOString().replace('Z', '+00:00')
  await assert.rejects(
    balanceAt(9),
    refused('invalid_time_range', 'before_coverage', { earliest_start: from, param: 'at' }),
  )
  await assert.rejects(
    balances.at(address(1), systemClock.now() + 60_000),
    refused('invalid_time_range', 'future'),
  )
  state.isFollowed = false
  await assert.rejects(balanceAt(50), refused('upstream_unavailable', 'index_behind'))
  Object.assign(state, { score: 110, isFollowed: true })
  const gap = {
    atMs: 3,
    fromHash: own(100).hash,
    fromBlueScore: 100,
    fromTimeMs: at(100) - 40_000,
    toHash: own(110).hash,
    toTimeMs: at(80),
    reason: 'pruned',
  } as const
  await writeNext(chain, { atMs: 3, start: { ...own(110), timeMs: at(80) }, gaps: [gap] })
  await assert.rejects(
    balanceAt(50),
    refused('invalid_time_range', 'gap', {
      earliest_start: new Date(at(80)).toISOString().replace('Z', '+00:00'),
    }),
  )
  assert.equal(await balanceAt(81), 0n)
  const busy = await rig({
    waitMs: 300,
    onBalance: async () => {
      const next = busy.state.score + 1
      await writeNext(busy.chain, {
        atMs: 4,
        added: [{ ...busy.own(next, [next]), transactions: [recent(next)] }],
      })
    },
  })
  t.after(busy.close)
  const recent = (tx: number) => ({ ...payment(tx, 1, 1n), blockTimeMs: systemClock.now() })
  await assert.rejects(busy.balanceAt(50), refused('upstream_unavailable', 'address_busy'))
})

test('adding up the rows of a busy address ends with the time or with the caller', async (t) => {
  const { chain, close, at } = await rig()
  t.after(close)
  let reads = 0
  const balances = createPastBalances({
    upstreams: { nodes: () => [], call: async () => assert.fail('the rows come first') },
    index: {
      ...{ checkpoint: chain.checkpoint, coverageFromMs: async () => 0 },
      ...{ indexedFromMs: chain.indexedFromMs, gaps: chain.gaps },
      addressMoved: async () => {
        reads++
        return { received: 1n, sent: 0n, rows: 1, next: { timeMs: 1, rank: 1 } }
      },
    },
    clock: systemClock,
    waitMs: 50,
  })
  await assert.rejects(
    balances.at(address(1), at(50), () => reads === 3),
    refused('upstream_unavailable', 'address_busy'),
  )
  assert.equal(reads, 3)
  await assert.rejects(balances.at(address(1), at(50)), refused('upstream_unavailable', 'address_busy'))
})
