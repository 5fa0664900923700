import assert from 'node:assert/strict'
import { test } from 'node:test'
import { choose, type NodeCandidate } from './choose.ts'

const node = (name: string, changes: Partial<NodeCandidate> = {}): NodeCandidate => ({
  name,
  tier: 'primary',
  connected: true,
  state: 'healthy',
  hasUtxoIndex: true,
  breaker: 'closed',
  latencyMs: 1,
  inFlight: 0,
  silentMs: 0,
  ...changes,
})
const order = (nodes: NodeCandidate[], need = { utxoIndex: false }) => choose(nodes, need).order

test('healthy primaries come first by expected wait, then healthy backups, then unhealthy nodes', () => {
  assert.deepEqual(
    order([
      node('lagging', { state: 'lagging' }),
      node('backup', { tier: 'backup', latencyMs: 0.1 }),
      node('busy', { inFlight: 9 }),
      node('slow', { latencyMs: 5 }),
      node('fast'),
      node('silent', { silentMs: 2_000 }),
      node('broken', { breaker: 'open' }),
    ]),
    ['fast', 'slow', 'busy', 'backup', 'broken', 'lagging', 'silent'],
  )
})

test('never none: if only unhealthy nodes are left they are used', () => {
  const unhealthy = (['lagging', 'unsynced', 'down'] as const).map((state) => node(state, { state }))
  assert.equal(order(unhealthy).length, 3)
  assert.equal(order([node('a', { breaker: 'open' }), node('b', { breaker: 'open' })]).length, 2)
})

test('a node that must not be used is left out, with the reason', () => {
  const { order: nobody, explain } = choose(
    [
      node('other', { state: 'wrong_network' }),
      node('new', { state: 'unknown' }),
      node('gone', { connected: false }),
      node('used'),
    ],
    { utxoIndex: false, exclude: new Set(['used']) },
  )
  assert.deepEqual(nobody, [])
  assert.deepEqual(
    explain.map(({ why }) => why),
    ['serves another network', 'not probed yet', 'not connected', 'already tried for this call'],
  )
})

test('a second attempt beside a running one goes to a healthy node only', () => {
  const nodes = [node('lagging', { state: 'lagging' }), node('silent', { silentMs: 5_000 }), node('well')]
  assert.deepEqual(choose(nodes, { utxoIndex: false, wellOnly: true }).order, ['well'])
  const avoid = new Set(['useless'])
  const need = { utxoIndex: false, avoid }
  assert.deepEqual(choose([node('useless'), node('well')], need).order, ['well', 'useless'])
  assert.deepEqual(choose([node('useless'), node('well')], { ...need, wellOnly: true }).order, ['well'])
})

test('a call that needs the UTXO index prefers a backup with it to a primary without', () => {
  const nodes = [node('bare', { hasUtxoIndex: false }), node('indexed', { tier: 'backup' })]
  assert.deepEqual(order(nodes, { utxoIndex: true }), ['indexed', 'bare'])
  assert.deepEqual(order(nodes), ['bare', 'indexed'])
})

test('the preferred node comes first within its class, never before a better one', () => {
  const nodes = [node('fast'), node('slow', { latencyMs: 9 }), node('backup', { tier: 'backup' })]
  const preferring = (prefer: string) => choose(nodes, { utxoIndex: false, prefer }).order
  assert.deepEqual(preferring('slow'), ['slow', 'fast', 'backup'])
  assert.deepEqual(preferring('backup'), ['fast', 'slow', 'backup'])
  assert.deepEqual(preferring('nobody'), ['fast', 'slow', 'backup'])
})

test('a node that a call stays on comes first, whatever its tier and breaker, unless it is unhealthy', () => {
  const nodes = [node('fast'), node('backup', { tier: 'backup', breaker: 'open', hasUtxoIndex: false })]
  const staying = (need = {}, among = nodes) =>
    choose(among, { utxoIndex: false, stayOn: 'backup', ...need }).order
  assert.deepEqual(staying(), ['backup', 'fast'])
  assert.deepEqual(staying({ utxoIndex: true }), ['fast', 'backup'])
  assert.deepEqual(staying({ exclude: new Set(['backup']) }), ['fast'])
  const lagging = node('backup', { tier: 'backup', state: 'lagging' })
  assert.deepEqual(staying({}, [node('fast'), lagging]), ['fast', 'backup'])
  assert.deepEqual(staying({}, [node('other', { state: 'lagging' }), lagging]), ['backup', 'other'])
})

test('in the configured order speed does not count, health does', () => {
  const nodes = [node('backup', { tier: 'backup' }), node('z', { latencyMs: 9 }), node('a')]
  const { order: healthy } = choose(nodes, { utxoIndex: false, asConfigured: true })
  assert.deepEqual(healthy, ['z', 'a', 'backup'])
  const lagging = nodes.with(1, node('z', { state: 'lagging' }))
  assert.deepEqual(choose(lagging, { utxoIndex: false, asConfigured: true }).order, ['a', 'backup', 'z'])
})
