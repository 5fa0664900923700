import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BTC, ETH, frameOf, QUICK, toyProtocol } from '../../../test/venues/toy-feed.ts'
import type { Channel } from '../channel.ts'
import { createDeadLetters } from '../dead-letter.ts'
import { refused } from './frame.ts'
import { Intake } from './intake.ts'

const ROUTE = { name: 'toy', url: 'ws://toy', channels: [BTC, ETH], greeting: [] }

function createIntake({ silenceMs = null as number | null, highWater = 100 } = {}) {
  let nowMs = 1_000
  const deadLetters = createDeadLetters({ venue: 'toy' })
  const sent: string[] = []
  const pressure: boolean[] = []
  const intake = new Intake({
    source: 'cexa',
    clock: { now: () => nowMs, sleep: () => Promise.reject(new Error('nothing waits here')) },
    limits: { ...QUICK, queueHighWater: highWater, queueLowWater: 0 },
    deadLetters,
    silenceOf: () => silenceMs,
    onPressure: (paused) => void pressure.push(paused),
    onData: (key) => void sent.push(key),
  })
  return {
    intake,
    deadLetters,
    sent,
    pressure,
    pass: (ms: number) => {
      nowMs += ms
      return nowMs
    },
    frame: (text: string) => intake.frame(ROUTE, toyProtocol.read(text, nowMs), text),
    kinds: async () => (intake.queue.size === 0 ? [] : (await intake.queue.take()).map(({ kind }) => kind)),
  }
}

test('a trade of two overlapping sockets is queued once; one of a channel that was not requested never', async () => {
  const { intake, frame, sent, kinds } = createIntake()
  intake.watch.add(BTC, () => true)
  for (const text of [frameOf(1), frameOf(1), frameOf(2), frameOf(3, 'ETH')]) frame(text)
  assert.deepEqual(await kinds(), ['trade', 'trade'])
  assert.deepEqual(sent, ['trades:BTC', 'trades:BTC'])
  const { frames, observations, repeats } = intake.counts
  assert.deepEqual({ frames, observations, repeats }, { frames: 4, observations: 2, repeats: 1 })
})

test('a frame that cannot be read is a dead letter; only a damaged one may have lost data', async () => {
  const { intake, deadLetters, kinds, frame } = createIntake()
  frame('{"id":')
  frame('{"strange":1}')
  intake.frame(ROUTE, refused('wrong_shape'), '{"id":"1"}')
  assert.deepEqual(deadLetters.counts(), { malformed: 1, unknown_kind: 1, wrong_shape: 1 })
  assert.deepEqual(await kinds(), ['damaged', 'damaged'])
  assert.equal(intake.counts.malformed, 2)
})

test('a polled channel is subscribed with its first answer and never again', async () => {
  const { intake, kinds } = createIntake()
  const funding: Channel = { topic: 'funding', symbol: 'BTC' }
  intake.answered('funding:BTC')
  assert.deepEqual(await kinds(), [], 'nobody asked for this channel')
  intake.watch.add(funding, () => true)
  intake.answered('funding:BTC')
  intake.answered('funding:BTC')
  assert.deepEqual(await kinds(), ['subscribed', 'answered', 'answered'])
})

test('a silence is reported once, and again on a renewed socket; a connection starts it from zero', async () => {
  const { intake, kinds, pass } = createIntake({ silenceMs: 500 })
  intake.watch.add(BTC, () => true)
  intake.reportSilence(pass(500))
  assert.deepEqual(await kinds(), [])
  intake.reportSilence(pass(1))
  intake.reportSilence(pass(1_000))
  assert.deepEqual(await kinds(), ['stale'])
  intake.renewed(ROUTE, 'silent')
  intake.reportSilence(pass(501))
  assert.deepEqual(await kinds(), ['renewed', 'stale'])
  intake.disconnected(ROUTE, 'cut', 1_000, false)
  intake.connected(ROUTE)
  intake.reportSilence(pass(500))
  assert.deepEqual(await kinds(), ['disconnected', 'connected'])
})

test('after a socket that was silent, channels are subscribed with the next data, not with a new socket', async () => {
  const { intake, frame, kinds } = createIntake()
  for (const channel of ROUTE.channels) intake.watch.add(channel, () => true)
  const accept = (...channels: string[]) => intake.frame(ROUTE, { kind: 'accepted', channels }, '')
  accept('trades:BTC', 'trades:ETH')
  frame(frameOf(1))
  assert.deepEqual(await kinds(), ['subscribed', 'subscribed', 'trade'])
  intake.disconnected(ROUTE, 'no data', 1_000, true)
  intake.connected(ROUTE)
  accept('trades:BTC', 'trades:ETH')
  frame(frameOf(1))
  assert.deepEqual(
    await kinds(),
    ['disconnected', 'connected'],
    'a repeat on the new subscription proves nothing',
  )
  intake.disconnected(ROUTE, 'closed by the venue', 1_000, false)
  intake.connected(ROUTE)
  accept('trades:BTC')
  assert.deepEqual(await kinds(), ['disconnected', 'connected'], 'nor does another socket')
  const requested = toyProtocol.read(frameOf(9, 'ETH'), 1_000)
  assert.ok(requested.kind === 'data')
  for (const { channel, observation } of requested.items) intake.observe(channel, observation)
  assert.deepEqual(await kinds(), ['trade'], 'nor does the answer to a request')
  frame(frameOf(2, 'ETH'))
  assert.deepEqual(await kinds(), ['subscribed', 'trade'], 'data of one channel proves the socket for all')
  accept('trades:ETH')
  assert.deepEqual(await kinds(), ['subscribed'])
  intake.disconnected(ROUTE, 'closed by the venue', 1_000, false)
  intake.connected(ROUTE)
  accept('trades:BTC', 'trades:ETH')
  assert.deepEqual(await kinds(), ['disconnected', 'connected', 'subscribed', 'subscribed'])
})

test('a full queue reports pressure and keeps what still arrives', async () => {
  const { intake, frame, pressure, kinds } = createIntake({ highWater: 2 })
  intake.watch.add(BTC, () => true)
  for (const id of [1, 2, 3]) frame(frameOf(id))
  assert.deepEqual(pressure, [true])
  assert.deepEqual(await kinds(), ['trade', 'trade', 'trade'])
  assert.deepEqual(pressure, [true, false])
})
