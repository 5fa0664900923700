import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SocketLiveness } from './socket-liveness.ts'

const LIMITS = { dataSilenceMs: 1_000, trafficSilenceMs: 5_000 }
const HEARTBEAT = { everyMs: 300, frame: 'ping', answerWithinMs: 200 }

test('pings do not replace data: a socket that only pings is dead after the silence of its data', () => {
  const socket = new SocketLiveness(LIMITS, null, 0)
  for (let nowMs = 0; nowMs <= 1_000; nowMs += 100) {
    socket.onTraffic(nowMs)
    assert.equal(socket.check(nowMs, true), 'alive')
  }
  assert.equal(socket.lostSinceMs, 1_000)
  assert.deepEqual(socket.check(1_001, true), { deadBecause: 'no data' })
  assert.equal(socket.lostSinceMs, 0, 'everything since the last data may be missing')
})

test('while nothing is subscribed missing data is no fault, missing traffic is', () => {
  const socket = new SocketLiveness(LIMITS, null, 0)
  assert.equal(socket.check(5_000, false), 'alive')
  assert.deepEqual(socket.check(5_001, false), { deadBecause: 'no traffic' })
  socket.onTraffic(5_001)
  assert.equal(socket.check(6_000, true), 'alive', 'the silence of the data counts from the subscription')
})

test('a ping without an answer ends the socket, unless other frames arrived after it', () => {
  const limits = { dataSilenceMs: null, trafficSilenceMs: 60_000 }
  const silent = new SocketLiveness(limits, HEARTBEAT, 0)
  assert.equal(silent.check(299, true), 'alive')
  assert.equal(silent.check(300, true), 'send a ping')
  assert.equal(silent.check(500, true), 'alive')
  assert.deepEqual(silent.check(501, true), { deadBecause: 'no pong' })

  const busy = new SocketLiveness(limits, HEARTBEAT, 0)
  assert.equal(busy.check(300, true), 'send a ping')
  busy.onTraffic(400)
  assert.equal(busy.check(501, true), 'alive')
  assert.equal(busy.check(600, true), 'send a ping')

  const unanswered = new SocketLiveness(limits, { ...HEARTBEAT, answerWithinMs: null }, 0)
  assert.equal(unanswered.check(300, true), 'send a ping')
  assert.equal(unanswered.check(600, true), 'send a ping', 'a venue that never answers pings is not dead')
})

test('after a pause in reading all silence and a pending ping are forgiven', () => {
  const socket = new SocketLiveness(LIMITS, HEARTBEAT, 0)
  assert.equal(socket.check(300, true), 'send a ping')
  socket.restart(50_000)
  assert.equal(socket.check(50_250, true), 'alive')
  assert.equal(socket.check(50_300, true), 'send a ping')
})

test('it is checked four times within the shortest limit and at least once a second', () => {
  assert.equal(new SocketLiveness(LIMITS, HEARTBEAT, 0).checkEveryMs, 50)
  assert.equal(new SocketLiveness(LIMITS, null, 0).checkEveryMs, 250)
  assert.equal(
    new SocketLiveness({ dataSilenceMs: null, trafficSilenceMs: 600_000 }, null, 0).checkEveryMs,
    1_000,
  )
})
