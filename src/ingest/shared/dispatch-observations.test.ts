import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLogger } from '../../kit/log.ts'
import type { Observation } from '../../venues/observation.ts'
import { missedSince, ObservationDispatch } from './dispatch-observations.ts'
import type { LiveRecorder } from './live-recorder.ts'
import type { CoverageTracker } from './track-coverage.ts'

const channel = { topic: 'trades', symbol: 'BTC' } as const
const trade = (venueTimeMs: number) =>
  ({
    ...{ kind: 'trade', source: 'perpdex', symbol: 'BTC', instrument: 'BTC', key: null, side: 'buy' },
    ...{ venueTimeMs, receivedMs: venueTimeMs + 100, id: String(venueTimeMs), price: '1', size: '1' },
  }) as Observation

/** Logs what a dispatch does to its recorder and to coverage, in order. */
function start() {
  const done: string[] = []
  const up = new Set<string>()
  const stop = new AbortController()
  const tracker = {
    isUp: (key: string) => up.has(key),
    up(key: string, atMs: number) {
      up.add(key)
      done.push(`up ${atMs}`)
    },
    failed(key: string, fromMs: number, reason: string) {
      up.delete(key)
      done.push(`failed ${fromMs} ${reason}`)
    },
    limitChannel: (_key: string, toMs: number) => void done.push(`limit ${toMs}`),
    doubt: (_key: string, fromMs: number, toMs: number) => void done.push(`doubt ${fromMs} ${toMs}`),
  } as unknown as CoverageTracker
  const recorder = {
    observe: ({ kind }: Observation) => void done.push(kind),
    gap: (_topic: string, fromMs: number, toMs: number) => void done.push(`gap ${fromMs} ${toMs}`),
    begins: (_topic: string, atMs: number) => void done.push(`begins ${atMs}`),
    observedTo: (_topic: string, toMs: number) => void done.push(`observed to ${toMs}`),
  } as unknown as LiveRecorder
  let last: Observation | undefined
  const dispatch = new ObservationDispatch({
    recorders: new Map([['BTC', recorder]]),
    tracker,
    silence: {
      last: () => last as never,
      receive(_key, observation) {
        last = observation
      },
      stale: () => void done.push('stale'),
      up: () => undefined,
      answered: () => void done.push('answered'),
    },
    log: createLogger({ level: 'silent' }),
    signal: stop.signal,
    startedMs: 0,
  })
  return { dispatch, stop, done: () => done.splice(0) }
}

const control = (kind: string, receivedMs: number, more: object) =>
  ({ kind, receivedMs, ...more }) as Observation

test('data proves that a channel is up, even if the confirmation was lost', () => {
  const { dispatch, done } = start()
  dispatch.take(trade(1_000))
  assert.deepEqual(done(), ['up 1100', 'gap -Infinity 1100', 'begins 1100', 'trade'])
  dispatch.take(control('subscribed', 1_200, { channel }))
  assert.deepEqual(done(), ['limit Infinity'])
  assert.deepEqual([dispatch.lastEventMs, dispatch.processedMs], [1_000, 1_200])
})

test('a lost connection is a gap from the last data on, in the rows before it is one in coverage', () => {
  const { dispatch, stop, done } = start()
  dispatch.take(trade(1_000))
  done()
  const lost = (reason: string) =>
    control('disconnected', 5_000, { route: 'r', reason, sinceMs: 4_000, channels: [channel] })
  dispatch.take(lost('closed by the venue'))
  assert.deepEqual(done(), ['gap 1001 Infinity', 'failed 1001 venue_down'])
  dispatch.take(lost('consumer too slow'))
  assert.deepEqual(done(), ['gap 1001 Infinity', 'failed 1001 not_observed'])
  stop.abort()
  dispatch.take(lost('closed by the venue'))
  assert.deepEqual(done(), [], 'our own end is no gap')
})

test('a channel that fell silent comes back by data, not by a new socket', () => {
  const { dispatch, done } = start()
  dispatch.take(trade(1_000))
  dispatch.fellSilent(channel, 9_000, 'not_observed')
  done()
  dispatch.take(control('subscribed', 10_000, { channel }))
  assert.deepEqual(done(), ['limit Infinity'])
  dispatch.take(trade(11_000))
  assert.deepEqual(done(), ['up 11100', 'gap -Infinity 11100', 'begins 11100', 'trade'])
})

test('a poll that answered covers the time up to it, and a frame that could not be read is in doubt', () => {
  const { dispatch, done } = start()
  dispatch.take(control('answered', 10_000, { channel }))
  assert.deepEqual(done(), ['answered', 'limit 8000'])
  dispatch.take(control('answered', 10_000, { channel, observedToMs: 3_000 }))
  assert.deepEqual(done(), ['answered', 'limit 3000'], 'or up to where the answer reaches')
  dispatch.take(control('observed_to', 10_000, { channel, toMs: 4_000 }))
  assert.deepEqual(done(), ['limit 4000', 'observed to 4000'], 'which may leave a silence one')
  for (const receivedMs of [10_000, 10_249])
    dispatch.take(control('damaged', receivedMs, { channels: [channel] }))
  assert.deepEqual(done(), ['doubt 9000 10250', 'doubt 9000 10250'], 'many frames are one doubt')
})

test('a frame that could not be read may have carried a liquidation that the venue had collected before', () => {
  const { dispatch, done } = start()
  dispatch.take(control('damaged', 10_000, { channels: [{ topic: 'liquidations', symbol: 'BTC' }] }))
  assert.deepEqual(done(), ['doubt 8000 10250'])
})

test('data that is ahead of our clock shows how far the clock of the venue is, unless its time is wrong', () => {
  const { dispatch } = start()
  const arrived = (venueTimeMs: number, receivedMs: number) =>
    dispatch.take({ ...trade(venueTimeMs), receivedMs } as Observation)
  arrived(1_000, 1_100)
  assert.equal(dispatch.takeAheadMs(), 0)
  arrived(2_200, 2_000)
  arrived(2_150, 2_100)
  arrived(99_000, 2_200)
  assert.equal(dispatch.takeAheadMs(), 200)
  assert.equal(dispatch.takeAheadMs(), 0)
})

test('what was missed begins after the last data, and never long before the end of the connection', () => {
  const last = (kind: 'trade' | 'funding' | 'liquidation', venueTimeMs: number) => ({ kind, venueTimeMs })
  assert.equal(missedSince(undefined, 60_000), 60_000)
  assert.equal(missedSince(last('trade', 58_000), 60_000), 58_001)
  assert.equal(missedSince(last('trade', 61_000), 60_000), 60_000)
  assert.equal(missedSince(last('trade', 1_000), 60_000), 45_000)
  assert.equal(missedSince(last('funding', 1_000), 60_000), 60_000)
  assert.equal(missedSince(last('liquidation', 1_000), 60_000), 59_000)
})
