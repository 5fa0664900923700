/** Covenants, tokens and KRC-20 on a real node, where all of them are active: the index agrees with the chain. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../until.ts'
import { judgeCovenants, judgeTokens } from './judge.ts'
import { keepSending, startLiveTraffic } from './live-traffic.ts'
import { keepMining } from './mine.ts'
import { startRealNode, withoutNode } from './real-node.ts'
import { startRealService } from './real-service.ts'
import { walk } from './walk.ts'

const TRANSACTIONS = 800

test('lineages and unspent outputs of covenants, and holders of tokens, equal a walk over the chain', {
  skip: withoutNode,
}, async (t) => {
  const node = await startRealNode({ name: 'covenants' })
  t.after(() => node.stop())
  const traffic = await startLiveTraffic(node, 11, 12, 0.5)
  t.after(() => traffic.close())
  const service = await startRealService([node])
  t.after(() => service.stop())
  await service.healthy(1)
  await service.indexed(node)
  const funding = new Set(traffic.submitted)
  const mining = keepMining(node, traffic.minerAddress, 10)
  const sending = keepSending(traffic, 40)
  t.after(() => Promise.all([mining.stop(), sending.stop()]))
  await until('enough transactions', () => traffic.submitted.size >= TRANSACTIONS, 120_000)
  await sending.stop()
  await until('an empty mempool', async () => (await node.rpc.call('getInfo')).mempoolSize === 0, 30_000)
  await mining.stop()
  await service.indexed(node)
  const truth = await walk(node, traffic.users)
  const compared = await judgeCovenants(service, truth)
  const kinds = new Map<string, number>()
  for (const { steps } of truth.covenants.values())
    for (const { kind } of steps) kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
  for (const kind of ['genesis', 'continuation', 'burn']) assert.ok(kinds.has(kind), `no ${kind} was made`)
  const holders = await judgeTokens(service, truth)
  assert.ok(holders > 0)
  const counted = [...truth.tokens.values()].flatMap((token) => token.counted)
  const bySeveral = counted.filter(({ sender }) => traffic.several.includes(sender))
  const times = (of: typeof counted) =>
    JSON.stringify(
      Object.fromEntries([...Map.groupBy(of, ({ op }) => op)].map(([op, all]) => [op, all.length])),
    )
  t.diagnostic(`operations that counted: ${times(counted)}, of several keys: ${times(bySeveral)}`)
  for (const op of ['deploy', 'mint', 'transfer', 'list', 'send', 'issue', 'chown'])
    assert.ok(
      counted.some((one) => one.op === op),
      `no ${op} counted`,
    )
  assert.ok(bySeveral.length > 0, 'no operation of several keys counted')
  t.diagnostic(`${holders} holders of ${[...truth.tokens.keys()].join(', ')}`)
  t.diagnostic(`${compared} covenants: ${JSON.stringify(Object.fromEntries(kinds))}`)
  assert.deepEqual(traffic.refusals, [])

  const tagged = new Map<string, number>()
  for (const txId of traffic.submitted.difference(funding)) {
    const { parsed } = (await service.get(`/v1/transactions/${txId}`)).json as { parsed: { tags: string[] } }
    for (const tag of parsed.tags) tagged.set(tag, (tagged.get(tag) ?? 0) + 1)
  }
  t.diagnostic(`tags: ${JSON.stringify(Object.fromEntries(tagged))}`)
  for (const tag of ['covenant', 'covenant_execution', 'krc20', 'native_asset', 'scriptlang'])
    assert.ok(tagged.has(tag), `nothing was tagged ${tag}`)
})
