import assert from 'node:assert/strict'
import { test } from 'node:test'
import { poolOver } from '../../test/fakes/pool.ts'
import { type FakeNode, startFakeNode } from '../../test/fakes/wrpc-node.ts'
import { until } from '../../test/until.ts'
import type { NodeNotification, NotificationListener } from './node-subscriptions.ts'

const ADDRESS = 'kaspa:qpauqsvk7yf9unexwmxsnmg547mhyga37csh0kj53q6xxgl24ydxjsgzthw5j'
const OTHER = 'kaspa:qr0lr4ml9fn3chekrqmjdkergxl93l4wrk3dankcgvjq776s9wn9jkdskewva'

function recorder(): NotificationListener & { log: string[]; notes: NodeNotification[] } {
  const log: string[] = []
  const notes: NodeNotification[] = []
  return {
    log,
    notes,
    onNotification: (notification) => notes.push(notification),
    onRegained: ({ node }) => log.push(`regained ${node}`),
    onLost: ({ node }) => log.push(`lost ${node}`),
  }
}
const subscriptions = (node: FakeNode) =>
  node.frames
    .filter((frame) => /"(un)?subscribe"/.test(frame))
    .map((frame) => frame.replace(/^.*?"method":/, ''))

test('a notification arrives with exact integers, and only at subscribers of its kind', async (t) => {
  const node = await startFakeNode()
  const { pool } = poolOver(t, [node])
  const blocks = recorder()
  const scores = recorder()
  pool.subscribe({ event: 'BlockAdded' }, blocks)
  pool.subscribe({ event: 'VirtualDaaScoreChanged' }, scores)
  await until('both in place', () => blocks.log.length + scores.log.length === 2)
  node.notify('blockAddedNotification', '{"BlockAdded":{"block":{"header":{"nonce":18446744073709551615}}}}')
  await until('the notification', () => blocks.notes.length === 1)
  assert.deepEqual(blocks.notes[0]?.value(), { block: { header: { nonce: 18446744073709551615n } } })
  assert.equal(blocks.notes[0]?.bytes.toString(), '{"block":{"header":{"nonce":18446744073709551615}}}')
  assert.equal(scores.notes.length, 0)
})

test('every scope is sent in the spelling of the node', async (t) => {
  const node = await startFakeNode()
  const { pool } = poolOver(t, [node])
  const chain = recorder()
  const utxos = recorder()
  pool.subscribe({ event: 'VirtualChainChanged' }, chain)
  pool.subscribe({ event: 'UtxosChanged', addresses: [ADDRESS] }, utxos)
  await until('both in place', () => chain.log.length + utxos.log.length === 2)
  assert.deepEqual(subscriptions(node), [
    '"subscribe","params":{"VirtualChainChanged":{"include_accepted_transaction_ids":true}}}',
    `"subscribe","params":{"UtxosChanged":{"addresses":["${ADDRESS}"]}}}`,
  ])
})

test('addresses are added and removed one by one, shared ones stay, and an empty list is never sent', async (t) => {
  const node = await startFakeNode()
  const { pool } = poolOver(t, [node])
  const listener = recorder()
  const first = pool.subscribe({ event: 'UtxosChanged', addresses: [ADDRESS] }, listener)
  const second = pool.subscribe({ event: 'UtxosChanged', addresses: [] }, listener)
  await until('in place', () => listener.log.length === 2)
  second.setAddresses([ADDRESS, OTHER])
  await until('the other address', () => subscriptions(node).length === 2)
  first.close()
  second.setAddresses([ADDRESS])
  await until('taken away', () => subscriptions(node).length === 3)
  second.close()
  await until('all gone', () => subscriptions(node).length === 4)
  assert.deepEqual(
    subscriptions(node).map((frame) => frame.replace(ADDRESS, 'A').replace(OTHER, 'B')),
    [
      '"subscribe","params":{"UtxosChanged":{"addresses":["A"]}}}',
      '"subscribe","params":{"UtxosChanged":{"addresses":["B"]}}}',
      '"unsubscribe","params":{"UtxosChanged":{"addresses":["B"]}}}',
      '"unsubscribe","params":{"UtxosChanged":{"addresses":["A"]}}}',
    ],
  )
  assert.throws(() => pool.subscribe({ event: 'UtxosChanged', addresses: ['kaspa:q'] }, listener), RangeError)
})

test('after a lost connection everything is subscribed again, and the loss is announced first', async (t) => {
  const node = await startFakeNode()
  const { pool } = poolOver(t, [node])
  const listener = recorder()
  pool.subscribe({ event: 'BlockAdded' }, listener)
  pool.subscribe({ event: 'UtxosChanged', addresses: [ADDRESS, OTHER] }, recorder())
  await until('in place', () => subscriptions(node).length === 2)
  await node.die()
  await until('lost', () => listener.log.length === 2)
  await node.revive()
  await until('regained', () => listener.log.length === 3)
  assert.deepEqual(listener.log, ['regained n0', 'lost n0', 'regained n0'])
  assert.equal(subscriptions(node).length, 4)
  node.notify('blockAddedNotification', '{"BlockAdded":{}}')
  await until('notified again', () => listener.notes.length === 1)
})

test('the feed leaves a node that hangs, lags or loses sync when a healthy one exists, and stays otherwise', async (t) => {
  const nodes = [await startFakeNode(), await startFakeNode()] as const
  const { pool } = poolOver(t, nodes)
  await until('all healthy', () => pool.nodes().every(({ state }) => state === 'healthy'))
  const listener = recorder()
  pool.subscribe({ event: 'BlockAdded' }, listener)
  await until('in place', () => listener.log.length === 1)
  const first = listener.log[0] === 'regained n0' ? 0 : 1
  const other = 1 - first
  nodes[first]?.hang()
  await until('moved', () => listener.log.length === 3)
  assert.deepEqual(listener.log.slice(1), [`lost n${first}`, `regained n${other}`])
  nodes[first]?.resume()
  await until('all healthy again', () => pool.nodes().every(({ state }) => state === 'healthy'))
  const lagging = nodes[other]
  if (lagging !== undefined) lagging.state.daaScore -= 5_000
  await until('moved back', () => listener.log.length === 5)
  assert.deepEqual(listener.log.slice(3), [`lost n${other}`, `regained n${first}`])
  const last = nodes[first]
  if (last !== undefined) last.state.isSynced = false
  await until('unsynced', () => pool.nodes()[first]?.state === 'unsynced')
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.equal(listener.log.length, 5, 'both unhealthy: a move would only make a gap')
})

test('watching addresses needs a node with the UTXO index; without it a node sends nothing', async (t) => {
  const nodes = [await startFakeNode({ hasUtxoIndex: false }), await startFakeNode()] as const
  const { pool } = poolOver(t, nodes, {}, [1])
  await until('all healthy', () => pool.nodes().every(({ state }) => state === 'healthy'))
  const listener = recorder()
  pool.subscribe({ event: 'UtxosChanged', addresses: [ADDRESS] }, listener)
  await until('in place', () => listener.log.length === 1)
  assert.deepEqual(listener.log, ['regained n1'])
  nodes[1].state.isSynced = false
  await until('moved', () => listener.log.length === 3)
  assert.deepEqual(listener.log.slice(1), ['lost n1', 'regained n0'], 'a healthy node without it is better')
})
