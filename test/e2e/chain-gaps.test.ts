/**
 * Must hold: a range that the nodes no longer have becomes a recorded gap, and is shown wherever the rest could be
 * mistaken for the whole: in the status, the history of an address, the stream (live and resumed), the command line.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSandboxChain, startSandboxNode } from '../../sandbox/node/run.ts'
import { EVENT_KINDS } from '../../src/events/kinds.ts'
import { caughtUp } from '../fakes/chain-rig.ts'
import { ask } from '../fakes/client.ts'
import { cliJson, startTestService } from '../fakes/service.ts'
import { storesIn } from '../fakes/stores.ts'
import { connectStream, type Frame } from '../fakes/stream-client.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'

interface IndexStatus {
  coverage_from: string | null
  gaps_24h: number
  gaps: { recorded_at: string; from: string; to: string; reason: string }[]
}

interface History {
  items: { block_time: string | null }[]
  coverage_from: string | null
  coverage: {
    from: string | null
    to: string | null
    complete: boolean
    gaps: { from: string; to: string; reason: string }[]
  }
}

/** If the chain is followed again before the blocks are, the blocks of that range are reported as missing too. */
const isOfChain = ({ reason }: { reason?: string }) => reason === 'pruned'

test('the node forgets while it cannot be reached: the gap is seen wherever the chain is told', async (t) => {
  const chain = await startSandboxChain({
    seed: 6,
    paced: false,
    reorgsPerMinute: 0,
    transactionsPerSecond: 20,
    warmUpBlocks: 150,
    keepBlocks: 200,
    coinbaseMaturity: 30,
  })
  t.after(() => chain.close())
  const port = await freePort()
  let node = await startSandboxNode({ chain, name: 'a', port })
  t.after(() => node.close())
  const address = node.wallets()[1]?.address ?? ''
  const service = await startTestService({
    env: { TAPELINE_TEST: 'off', TAPELINE_NODES: node.url, TAPELINE_NETWORK: 'testnet-10' },
  })
  t.after(() => service.stop())
  const key = await service.key({ environment: 'live' })
  const get = async (path: string) => (await ask(`${service.url}${path}`, { key })).json
  const index = async () => (await get('/v1/status')).index as IndexStatus
  const history = async () =>
    (await get(`/v1/addresses/${address}/transactions?limit=200`)) as unknown as History
  const database = storesIn(service.folder).chain('live')
  t.after(() => database.close())
  const grow = async (blocks: number) => {
    for (let i = 0; i < blocks; i++) chain.chain.step()
    await caughtUp(database, () => node.truth.sink())
  }

  const client = connectStream(service.url, key)
  t.after(() => client.close())
  client.send({ op: 'subscribe', id: 'mine', kinds: ['block_added', 'virtual_chain_changed'] })
  await client.next('live')
  await until('the first start', async () => (await index()).coverage_from !== null)
  await grow(20)
  const before = await history()
  assert.deepEqual([before.coverage.complete, before.coverage.gaps], [true, []])
  assert.equal(before.coverage.from, before.coverage_from)
  assert.equal((await index()).gaps_24h, 0)
  // Events are sent a moment after they are written.
  await until('the first events', () => client.events.length > 0)
  const lastSeq = client.events.at(-1)?.seq ?? 0

  await node.die()
  for (let i = 0; i < 500; i++) chain.chain.step()
  await node.close()
  node = await startSandboxNode({ chain, name: 'a', port })
  await until('the gap', async () => (await index()).gaps_24h > 0)
  await grow(20)

  const { gaps, coverage_from: coverageFrom } = await index()
  const [gap] = gaps.filter(isOfChain)
  assert.ok(gap)
  assert.equal(Date.parse(gap.from), Date.parse(before.coverage.to ?? ''), 'from the last block before')
  assert.ok(Date.parse(gap.to) > Date.parse(gap.from))
  assert.equal(coverageFrom, gap.to)

  const after = await history()
  const inNodeForm = (time: string) => time.replace('Z', '+00:00')
  assert.deepEqual(after.coverage.gaps, [
    { from: inNodeForm(gap.from), to: inNodeForm(gap.to), reason: 'pruned' },
  ])
  assert.equal(after.coverage.complete, false)
  assert.equal(after.coverage.from, before.coverage.from, 'what was indexed before is still there')
  assert.equal(after.coverage_from, inNodeForm(gap.to))
  const inside = after.items.filter(
    ({ block_time: time }) => time !== null && time > inNodeForm(gap.from) && time < inNodeForm(gap.to),
  )
  assert.deepEqual(inside, [])

  const told = { reason: 'pruned', from: gap.from, to: gap.to }
  const isTold = ({ type, reason }: Frame) => type === 'gap' && reason === 'pruned'
  await until('the gap on the stream', () => client.frames.some(isTold))
  const live = client.frames.find(isTold)
  assert.ok(live)
  assert.deepEqual({ reason: live.reason, from: live.from, to: live.to }, told)
  assert.equal(live.id, 'mine')
  assert.deepEqual(live.kinds, EVENT_KINDS)
  assert.ok(Number(live.after_seq) >= lastSeq && live.up_to_seq === Number(live.after_seq) + 1)
  assert.ok(
    client.events.every(({ seq }) => seq !== live.up_to_seq),
    'it is no event',
  )
  const resumed = connectStream(service.url, key)
  t.after(() => resumed.close())
  resumed.send({ op: 'subscribe', id: 'mine', kinds: ['block_added'], resume_after: lastSeq })
  await resumed.next('live')
  assert.deepEqual(resumed.frames.filter(isTold), [live])

  const rows = await cliJson<Record<string, string>[]>(service.folder, [
    ...['gaps', '--dataset', 'chain', '--environment', 'live'],
    ...['--from', new Date(Date.parse(gap.from) - 1_000).toISOString()],
    ...['--to', new Date(Date.parse(gap.to) + 1_000).toISOString()],
  ])
  assert.deepEqual(rows.filter(isOfChain), [
    { dataset: 'chain', source: '', symbol: '', interval: '', ...told },
  ])
})
