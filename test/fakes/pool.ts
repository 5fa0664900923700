/** A pool over fake nodes with short times, closed with the test. */
import type { TestContext } from 'node:test'
import { systemClock } from '../../src/kit/clock.ts'
import {
  createUpstreams,
  type Trouble,
  type UpstreamSettings,
  type Upstreams,
} from '../../src/upstreams/pool.ts'
import type { FakeNode } from './wrpc-node.ts'

const QUICK: Partial<UpstreamSettings> = {
  probeEveryMs: 50,
  probeTimeoutMs: 250,
  lightSockets: 2,
  heavySockets: 2,
  breaker: { failures: 5, openMs: 200, maxOpenMs: 1_000 },
}

export interface PoolUnderTest {
  pool: Upstreams
  troubles: Trouble[]
}

export function poolOver(
  t: TestContext,
  nodes: readonly FakeNode[],
  settings: Partial<UpstreamSettings> = {},
  backups: readonly number[] = [],
): PoolUnderTest {
  const troubles: Trouble[] = []
  const pool = createUpstreams({
    network: 'mainnet',
    clock: systemClock,
    random: Math.random,
    nodes: nodes.map((node, index) => ({
      name: `n${index}`,
      url: node.url,
      tier: backups.includes(index) ? 'backup' : 'primary',
    })),
    settings: { ...QUICK, ...settings },
    onTrouble: (trouble) => troubles.push(trouble),
  })
  t.after(async () => {
    await pool.close()
    await Promise.all(nodes.map((node) => node.close()))
  })
  return { pool, troubles }
}
