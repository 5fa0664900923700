import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  isExpectedToAnswer,
  type NodeHealth,
  observe,
  type ProbeResult,
  type ServerInfo,
  UNKNOWN_HEALTH,
} from './health.ts'

const policy = { network: 'mainnet', lagOut: 600, lagIn: 200, badProbes: 2, goodProbes: 3 }
const info = (changes: Partial<ServerInfo> = {}): ServerInfo => ({
  networkId: 'mainnet',
  isSynced: true,
  hasUtxoIndex: true,
  virtualDaaScore: 10_000,
  serverVersion: '2.0.1',
  ...changes,
})
function states(start: NodeHealth, probes: ProbeResult[], best = 10_000): string[] {
  let health = start
  return probes.map((probe) => {
    health = observe(health, probe, best, policy)
    return health.state
  })
}
const healthy = observe(UNKNOWN_HEALTH, info(), 10_000, policy)

test('the first probe decides at once', () => {
  assert.equal(healthy.state, 'healthy')
  assert.equal(observe(UNKNOWN_HEALTH, undefined, 0, policy).state, 'down')
  assert.equal(observe(UNKNOWN_HEALTH, info({ isSynced: false }), 0, policy).state, 'unsynced')
})

test('one bad probe changes nothing, two do; three good ones bring it back', () => {
  const bad = info({ isSynced: false })
  assert.deepEqual(states(healthy, [bad, info(), bad, bad, info(), info(), info()]), [
    'healthy',
    'healthy',
    'healthy',
    'unsynced',
    'unsynced',
    'unsynced',
    'healthy',
  ])
  assert.deepEqual(states(healthy, [undefined, undefined]), ['healthy', 'down'])
})

test('a node of another network is excluded at once', () => {
  assert.deepEqual(states(healthy, [info({ networkId: 'testnet-10' })]), ['wrong_network'])
})

test('a lagging node is excluded above one threshold and returns below another', () => {
  const behind = (scores: number) => info({ virtualDaaScore: 10_000 - scores })
  assert.deepEqual(
    states(healthy, [
      behind(600),
      behind(601),
      behind(1_000),
      behind(400),
      behind(400),
      behind(400),
      behind(200),
      behind(100),
      behind(0),
    ]),
    ['healthy', 'healthy', 'lagging', 'lagging', 'lagging', 'lagging', 'lagging', 'lagging', 'healthy'],
  )
})

test('a node that hangs with its sockets open is not expected to answer', () => {
  const hanging = [undefined, undefined].reduce<NodeHealth>(
    (health, probe) => observe(health, probe, 10_000, policy),
    healthy,
  )
  assert.equal(isExpectedToAnswer({ state: hanging.state, connected: true }), false)
  assert.equal(isExpectedToAnswer({ state: 'wrong_network', connected: true }), false)
  assert.equal(isExpectedToAnswer({ state: healthy.state, connected: false }), false)
  assert.equal(isExpectedToAnswer({ state: healthy.state, connected: true }), true)
  assert.equal(isExpectedToAnswer({ state: 'lagging', connected: true }), true)
})
