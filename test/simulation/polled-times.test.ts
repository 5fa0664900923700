/** Old answers excuse a row only while a recorder polls, and it polls only while it has no socket. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Dial } from '../../src/venues/venue.ts'
import { watchPolling } from './polled-times.ts'
import { createSlack } from './slack.ts'
import { SimulatedSocket } from './socket.ts'
import type { VirtualTime } from './virtual-time.ts'

const MINUTE_MS = 60_000

function start() {
  const time = { nowMs: 0 }
  const polling = watchPolling(time)
  const recorder = () => {
    const dial = polling.through(() => new SimulatedSocket() as unknown as ReturnType<Dial>)
    return (atMs: number) => {
      time.nowMs = atMs
      return dial('ws://venue') as unknown as SimulatedSocket
    }
  }
  return { time, recorder, isPolledAt: polling.isPolledAt }
}

test('books are polled from a refused key until a socket opens', () => {
  const { recorder, isPolledAt } = start()
  const dial = recorder()
  const first = dial(0)
  first.open()
  first.reset()
  dial(10 * MINUTE_MS).refuse(503)
  assert.equal(isPolledAt(10 * MINUTE_MS), false)
  dial(20 * MINUTE_MS).refuse(401)
  dial(21 * MINUTE_MS).refuse(401)
  dial(22 * MINUTE_MS).fail(new Error('connect ECONNREFUSED'))
  dial(23 * MINUTE_MS).open()
  assert.deepEqual(
    [19, 20, 22, 24].map((minute) => isPolledAt(minute * MINUTE_MS)),
    [false, true, true, false],
  )
})

test('a refusal beside an open socket begins no polling, and a new recorder begins without', () => {
  const { time, recorder, isPolledAt } = start()
  const dial = recorder()
  const first = dial(0)
  first.open()
  dial(MINUTE_MS).refuse(401)
  assert.equal(isPolledAt(MINUTE_MS), false)
  first.reset()
  dial(2 * MINUTE_MS).refuse(401)
  time.nowMs = 3 * MINUTE_MS
  recorder()
  assert.deepEqual(
    [2, 4].map((minute) => isPolledAt(minute * MINUTE_MS)),
    [true, false],
  )
})

test('rows of a socket are not excused by old answers', () => {
  const isPolledAt = (atMs: number) => atMs >= MINUTE_MS
  const slack = createSlack({ nowMs: 0 } as VirtualTime, { isPolledAt })
  const settings = { channel: 'rest', delayMs: 4_000 }
  slack.begin({ part: 'kalshi', kind: 'stale', atMs: 0, durationMs: 2 * MINUTE_MS, settings })
  assert.equal(slack.at(30_000).behindMs, 0)
  assert.ok(slack.at(90_000).behindMs >= 4_000)
})
