import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import type { DialNode } from './dial-node.ts'
import { openReconnectingSocket } from './reconnecting-socket.ts'

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

test('connections that are lost at once are dialled less and less often, even if the system clock is set forward', async (t) => {
  const manual = manualClock(0)
  let setMs = 0
  const clock = { ...manual, now: () => manual.now() + setMs, elapsed: () => manual.now() }
  let dials = 0
  const dial: DialNode = (_url, events) => {
    dials++
    setImmediate(() => {
      events.onOpen()
      setMs += 60_000
      events.onClose('closed by the node')
    })
    return { send: () => {}, ping: () => {}, terminate: () => {} }
  }
  const socket = openReconnectingSocket({ url: 'ws://node', ports: { clock, dial, random: () => 0.99 } })
  t.after(() => socket.close())
  for (let passedMs = 0; passedMs < 60_000; passedMs += 50) {
    for (let turn = 0; turn < 3; turn++) await nextTurn()
    manual.advance(50)
  }
  // Six in the first seconds, then one every three seconds; without backoff it would be hundreds.
  assert.ok(dials > 15 && dials < 30, `${dials} dials`)
})
