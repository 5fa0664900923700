import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchTurns } from '../../../../test/fakes/loop-hold.ts'
import { manualClock } from '../../../../test/fakes/manual-clock.ts'
import type { NodeState } from '../../../upstreams/health.ts'
import type { NodeStatus } from '../../../upstreams/pool.ts'
import { createUtxoReader, MAX_UTXOS } from './read-utxos.ts'

const entry = (n: number) =>
  `{"address":null,"outpoint":{"transactionId":"${n.toString(16).padStart(64, '0')}","index":${n % 3}},"utxoEntry":{"amount":18446744073709551615,"scriptPublicKey":"0000aa","blockDaaScore":${n},"isCoinbase":false,"covenantId":null}}`
const answer = (count: number) =>
  Buffer.from(`{"entries":[${Array.from({ length: count }, (_, n) => entry(n)).join(',')}]}`)

function readerOf(bytes: Buffer) {
  const state = { calls: 0, tip: 'a', node: 'healthy' as NodeState }
  const clock = manualClock(0)
  const reader = createUtxoReader({
    upstreams: {
      callRaw: async () => {
        state.calls++
        return { ok: true, bytes, node: 'n', attempts: 1, inDoubt: false }
      },
      nodes: () => [{ name: 'n', state: state.node } as NodeStatus],
    },
    index: {
      checkpoint: async () => ({ hash: state.tip, blueScore: 1, daaScore: 1, timeMs: 1 }),
    },
    clock,
    waitMs: 1_000,
  })
  const count = async () => {
    let found = 0
    for await (const _ of reader.of('kaspatest:x')) found++
    return found
  }
  return { state, clock, reader, count }
}

test('a node is asked once per block, also by callers at the same time; amounts keep their digits', async () => {
  const { state, reader, count } = readerOf(answer(10))
  assert.deepEqual(await Promise.all([count(), count()]), [10, 10])
  assert.equal(await count(), 10)
  assert.equal(state.calls, 1)
  state.tip = 'b'
  assert.equal(await count(), 10)
  assert.equal(state.calls, 2)
  for await (const { amount } of reader.of('kaspatest:x')) assert.equal(amount, 2n ** 64n - 1n)
})

test('an index that stands still and a node that lags keep no answer alive', async () => {
  const { state, clock, count } = readerOf(answer(10))
  await count()
  clock.advance(999)
  await count()
  assert.equal(state.calls, 1)
  clock.advance(1)
  await count()
  assert.equal(state.calls, 2)
  state.node = 'lagging'
  await count()
  assert.equal(state.calls, 3)
})

test('as many outputs as are served do not hold the loop; more are refused with the reason', async () => {
  const most = readerOf(answer(MAX_UTXOS))
  let held = Number.POSITIVE_INFINITY
  for (let round = 0; round < 10 && held > 20; round++) {
    const stop = watchTurns()
    assert.equal(await most.count(), MAX_UTXOS)
    held = Math.min(held, stop())
  }
  assert.ok(held <= 20, `the loop was held for ${held} ms`)
  const reason = (error: unknown) => (error as { detail: { reason: string } }).detail.reason
  await assert.rejects(readerOf(answer(MAX_UTXOS + 1)).count(), (error) => reason(error) === 'too_many_utxos')
  const huge = Buffer.alloc(49 * 1024 * 1024, 0x20)
  huge.write('{"entries":[')
  await assert.rejects(readerOf(huge).count(), (error) => reason(error) === 'too_many_utxos')
})

test('an answer without a list, or about another address, is not an address without outputs', async () => {
  const other = entry(1).replace('null', '"kaspatest:y"')
  for (const text of [
    '{}',
    '{"entries":null}',
    '{"entries":{}}',
    '{"balance":5}',
    `{"entries":[${other}]}`,
  ]) {
    const { reader, count } = readerOf(Buffer.from(text))
    await assert.rejects(count(), { kind: 'upstream_error' }, text)
    await assert.rejects(Array.fromAsync(reader.all('kaspatest:x')), { kind: 'upstream_error' }, text)
  }
  assert.equal(await readerOf(Buffer.from('{"entries":[]}')).count(), 0)
})

test('an output without one of its members, or with one of another kind, is no output', async () => {
  for (const [member, wrong] of [
    [/"transactionId":"0*1"/, '"transactionId":1'],
    [/"index":1/, '"index":"1"'],
    [/,"index":1/, ''],
    [/"amount":18446744073709551615/, '"amount":"5"'],
    [/"scriptPublicKey":"0000aa",/, ''],
    [/"scriptPublicKey":"0000aa"/, '"scriptPublicKey":{"script":18446744073709551615}'],
    [/"blockDaaScore":1,/, ''],
    [/"covenantId":null/, '"covenantId":18446744073709551615'],
  ] as const) {
    const text = entry(1).replace(member, wrong)
    assert.notEqual(text, entry(1), wrong)
    await assert.rejects(
      readerOf(Buffer.from(`{"entries":[${text}]}`)).count(),
      { kind: 'upstream_error' },
      text,
    )
  }
  const short = entry(1).replace(',"covenantId":null', '').replace('"isCoinbase":false,', '')
  const [utxo] = await Array.fromAsync(
    readerOf(Buffer.from(`{"entries":[${short.replace(',"isCoinbase":false', '')}]}`)).reader.of(
      'kaspatest:x',
    ),
  )
  assert.deepEqual([utxo?.covenantId, utxo?.isCoinbase], [null, false])
})
