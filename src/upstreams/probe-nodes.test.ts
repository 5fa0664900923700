import assert from 'node:assert/strict'
import { test } from 'node:test'
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
