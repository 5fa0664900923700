import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as rest } from 'node:timers/promises'
import { systemClock } from '../../kit/clock.ts'
import { createTurns } from './request-turns.ts'
import { createRestClient } from './rest-client.ts'

test('the live side goes first and always has a place; the backfill fills the rest and is not forgotten', async () => {
  const turns = createTurns(3)
  const order: string[] = []
  const ends = new Map<string, () => void>()
  const ask = (name: string, isBackground: boolean) =>
    turns.run(isBackground, async () => {
      order.push(name)
      await new Promise<void>((resolve) => ends.set(name, resolve))
    })
  const all = ['b1', 'b2', 'b3', 'b4'].map((name) => ask(name, true))
  assert.deepEqual(order, ['b1', 'b2'], 'one place is left free')
  all.push(ask('l1', false), ask('l2', false), ask('l3', false))
  assert.deepEqual(order, ['b1', 'b2', 'l1'])
  const end = async (name: string) => {
    ends.get(name)?.()
    await rest(0)
  }
  await end('b1')
  await end('b2')
  assert.deepEqual(order, ['b1', 'b2', 'l1', 'l2', 'l3'], 'both places go to the live side')
  for (const name of ['l1', 'l2', 'l3']) await end(name)
  assert.deepEqual(order.slice(5), ['b3', 'b4'])
  for (const name of ['b3', 'b4']) await end(name)
  await Promise.all(all)
})

test('a question that fails gives its place back', async () => {
  const turns = createTurns(1)
  await assert.rejects(turns.run(true, () => Promise.reject(new Error('no'))))
  assert.equal(await turns.run(false, async () => 'asked'), 'asked')
  assert.equal(await turns.run(true, async () => 'asked'), 'asked')
})

test('however hard the past is asked for, a live question waits for the ones under way and for no others', async (t) => {
  const arrived: string[] = []
  const server = createServer((request, response) => {
    arrived.push(request.url ?? '')
    setTimeout(() => response.end('{}'), 20)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const client = createRestClient({
    venue: 'test',
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    budgets: { tokens: { limit: 20, windowMs: 250 } },
    fetch,
    clock: systemClock,
    random: Math.random,
  })
  const stop = new AbortController()
  const walks = Array.from({ length: 60 }, async () => {
    while (!stop.signal.aborted)
      await client.request({ path: '/past', weight: 1, isBackground: true }, stop.signal)
  })
  for (const walk of walks) walk.catch(() => {})
  await rest(300)
  for (let asked = 0; asked < 12; asked++) {
    const before = arrived.length
    await client.request({ path: `/live/${asked}`, weight: 1 }, stop.signal)
    const place = arrived.indexOf(`/live/${asked}`) - before
    assert.ok(place <= 4, `${place} questions about the past came before live question ${asked}`)
    await rest(Math.random() * 60)
  }
  const past = arrived.filter((path) => path === '/past').length
  assert.ok(past > 20, `the past goes on: ${past} questions`)
  stop.abort()
  await Promise.allSettled(walks)
})
