import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import type { KeyRing } from '../accounts/key-ring.ts'
import { createAuthThrottle } from './auth-throttle.ts'
import { createMcpGate } from './mcp-gate.ts'
import { createStreamGate } from './stream-gate.ts'

test('wrong keys from one /64 network count as one address, and few answers per address are delayed at a time', async () => {
  const clock = manualClock(1_000_000)
  const authThrottle = createAuthThrottle(clock)
  for (let i = 0; i < 20; i++) assert.equal(await authThrottle.afterFailure(`2001:db8::${i}`), true)
  const held = Array.from({ length: 100 }, (_, i) => authThrottle.afterFailure(`2001:db8::1:${i}`))
  await new Promise(setImmediate)
  // The rest of the group is refused at once because too many are delayed; another caller is not.
  assert.equal(await authThrottle.afterFailure('2001:db8:0:1::1'), true)
  clock.advance(3_000)
  const outcomes = await Promise.all(held)
  assert.equal(outcomes.filter((answered) => answered).length, 16)
  clock.advance(60_000)
  assert.equal(await authThrottle.afterFailure('2001:db8::9'), true)
})

test('a failure that cannot be delayed is refused by MCP and the stream too, without a word about the key', async () => {
  const clock = manualClock(1_000_000)
  const authThrottle = { afterFailure: async () => false }
  const deps = { keys: {} as KeyRing, authThrottle, clock }
  for (const gate of [createMcpGate(deps), createStreamGate(deps)]) {
    await assert.rejects(gate.admit({ headers: {}, search: '', address: '192.0.2.1' }), { status: 429 })
  }
})

test('a clock that jumps back starts a new window', async () => {
  const clock = manualClock(1_000_000)
  const authThrottle = createAuthThrottle(clock)
  for (let i = 0; i < 20; i++) await authThrottle.afterFailure('192.0.2.1')
  clock.set(0)
  assert.equal(await authThrottle.afterFailure('192.0.2.1'), true)
})
