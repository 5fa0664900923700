import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startFakeNode } from '../../test/fakes/wrpc-node.ts'
import { until } from '../../test/until.ts'
import { systemClock } from '../kit/clock.ts'
import { dialNode } from './dial-node.ts'
import { startProbing } from './probe-nodes.ts'

test('a connection lost during a probe is one failed probe', async (t) => {
  const node = await startFakeNode()
  const probes = startProbing({
    nodes: [{ name: 'n', url: node.url }],
    policy: { network: 'mainnet', lagOut: 100, lagIn: 50, badProbes: 2, goodProbes: 2 },
    everyMs: 1_000,
    timeoutMs: 10_000,
    ports: { clock: systemClock, dial: dialNode, random: Math.random },
    onChange: () => {},
  })
  t.after(async () => {
    probes.close()
    await node.close()
  })
  await until('healthy', () => probes.health('n').state === 'healthy')
  node.hang()
  const before = node.received('getServerInfo')
  await until('a probe is open', () => node.received('getServerInfo') > before)
  const seen: number[] = []
  void node.die()
  await until('the loss', () => probes.health('n').leaning === 'down')
  for (let i = 0; i < 5; i++) {
    seen.push(probes.health('n').leaningProbes)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.deepEqual([probes.health('n').state, ...new Set(seen)], ['healthy', 1])
})

/** Three nodes that are probed and whose scores grow ten times a second, each by its own step. */
async function probed(t: TestContext, steps: readonly number[]) {
  const nodes = await Promise.all(steps.map(() => startFakeNode()))
  const probes = startProbing({
    nodes: nodes.map(({ url }, i) => ({ name: `n${i}`, url })),
    policy: { network: 'mainnet', lagOut: 600, lagIn: 200, badProbes: 2, goodProbes: 2 },
    everyMs: 20,
    timeoutMs: 10_000,
    ports: { clock: systemClock, dial: dialNode, random: Math.random },
    onChange: () => {},
  })
  const growing = setInterval(() => {
    for (const [i, { state }] of nodes.entries()) state.daaScore += steps[i] ?? 0
  }, 100)
  t.after(async () => {
    clearInterval(growing)
    probes.close()
    for (const node of nodes) await node.close()
  })
  const states = () => steps.map((_, i) => probes.health(`n${i}`).state)
  return { nodes, probes, states }
}

test('one of three nodes that claims to be far ahead does not make the others lag', async (t) => {
  const { nodes, probes, states } = await probed(t, [1, 1, 1])
  const areHealthy = () => states().every((state) => state === 'healthy')
  await until('all have grown', () => areHealthy() && nodes.every(({ state }) => state.daaScore > 1_000_003))
  const [liar] = nodes
  if (liar !== undefined) liar.state.daaScore += 1_000_000
  const claimed = () => (probes.health('n0').info?.virtualDaaScore ?? 0) > 2_000_000
  await until('the claim was heard', claimed)
  for (const node of nodes.slice(1)) {
    const before = node.received('getServerInfo')
    await until('some more probes', () => node.received('getServerInfo') > before + 5)
  }
  assert.ok(areHealthy())
  assert.ok(nodes.every((_, i) => probes.health(`n${i}`).lag < 600))
})

test('two of three nodes that catch up after a restart lag until they are near the third', async (t) => {
  const { nodes, states } = await probed(t, [1, 100, 100])
  const [ahead] = nodes
  if (ahead !== undefined) ahead.state.daaScore += 1_000_000
  await until('the two lag', () => states().join() === 'healthy,lagging,lagging')
  for (const node of nodes) {
    const before = node.received('getServerInfo')
    await until('some more probes', () => node.received('getServerInfo') > before + 30)
    assert.equal(states().join(), 'healthy,lagging,lagging')
  }
})
