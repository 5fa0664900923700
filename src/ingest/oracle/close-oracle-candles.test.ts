/** A closed candle of an interval stays as it is, whatever becomes known about the rounds around it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HistoryRange } from '../../venues/venue.ts'
import { candleFeed } from '../shared/feeds.ts'
import { OracleCandleCloser } from './close-oracle-candles.ts'
import { createOracleUpdates } from './order-updates.ts'

const FEED = candleFeed('oracle', 'BTC', '5m')
const at = (time: string) => Date.parse(`2026-11-25T${time}Z`)

function openCloser() {
  const lost: HistoryRange[] = []
  const reasons: string[] = []
  const confirmed: HistoryRange[] = []
  const updates = createOracleUpdates()
  const closer = new OracleCandleCloser({
    ...{ feed: FEED, interval: '5m', startedMs: at('04:37:09'), heartbeatMs: 27_000, updates },
    rows: { put() {}, final() {} },
    tracker: {
      lost(_feed, fromMs, toMs, reason) {
        lost.push({ fromMs, toMs })
        reasons.push(reason)
      },
      confirm: (_feed, fromMs, toMs) => void confirmed.push({ fromMs, toMs }),
    },
  })
  return { closer, updates, lost, reasons, confirmed }
}

test('missed rounds leave the candles alone that an earlier run has closed', () => {
  const { closer, lost, confirmed } = openCloser()
  closer.begin(at('04:35:00'))
  const missed = { fromMs: at('04:34:20'), toMs: at('04:37:34') }
  closer.lost(missed)
  closer.confirm(missed)
  const own = [{ fromMs: at('04:35:00'), toMs: at('04:37:34') }]
  assert.deepEqual([lost, confirmed], [own, own])
})

test('missed rounds leave the candles alone that this run has closed', () => {
  const { closer, updates, lost } = openCloser()
  closer.begin(at('04:35:00'))
  updates.add({ updatedMs: at('04:38:06'), roundId: 1n, price: '1' })
  updates.add({ updatedMs: at('04:40:24'), roundId: 5n, price: '2' })
  closer.close({
    nowMs: at('04:40:30'),
    knownToMs: at('04:40:28'),
    soughtMs: Number.POSITIVE_INFINITY,
    firstMs: 0,
  })
  closer.lost({ fromMs: at('04:38:06'), toMs: at('04:41:24') })
  closer.lost({ fromMs: at('04:38:06'), toMs: at('04:39:00') })
  assert.deepEqual(lost, [{ fromMs: at('04:40:00'), toMs: at('04:41:24') }])
})

test('without a newer round a candle is closed when the nodes know that there is none, however late it is', () => {
  const { closer, updates } = openCloser()
  closer.begin(at('04:35:00'))
  updates.add({ updatedMs: at('04:38:06'), roundId: 1n, price: '1' })
  const close = (knownToMs: number) =>
    closer.close({ nowMs: at('04:50:00'), knownToMs, soughtMs: Number.POSITIVE_INFINITY, firstMs: 0 })
  close(at('04:40:54'))
  assert.equal(closer.closedToMs, at('04:35:00'))
  close(at('04:40:55'))
  assert.equal(closer.closedToMs, at('04:40:00'))
})

test('until it is known where candles begin, missed rounds concern the time since the start', () => {
  const { closer, lost } = openCloser()
  closer.lost({ fromMs: at('04:34:20'), toMs: at('04:37:34') })
  assert.deepEqual(lost, [{ fromMs: at('04:37:09'), toMs: at('04:37:34') }])
})

test('from a candle without an answer on nothing is claimed until it is closed', () => {
  const { closer, updates, lost, confirmed } = openCloser()
  closer.begin(at('04:35:00'))
  updates.add({ updatedMs: at('04:38:06'), roundId: 1n, price: '1' })
  closer.show(at('04:39:59'))
  assert.equal(closer.claimedToMs, Number.POSITIVE_INFINITY)
  // More than three heartbeats after the last answer, the answer is not carried forward.
  closer.show(at('04:40:01'))
  closer.show(at('04:46:00'))
  assert.equal(closer.claimedToMs, at('04:40:00'))
  updates.add({ updatedMs: at('04:46:24'), roundId: 2n, price: '2' })
  closer.revised(at('04:46:24'), 0)
  closer.show(at('04:46:30'))
  assert.equal(
    closer.claimedToMs,
    at('04:40:00'),
    'the candle between the two answers is not known to be a gap',
  )
  closer.close({
    nowMs: at('04:46:31'),
    knownToMs: at('04:46:30'),
    soughtMs: Number.POSITIVE_INFINITY,
    firstMs: 0,
  })
  assert.equal(closer.claimedToMs, Number.POSITIVE_INFINITY)
  assert.deepEqual(lost, [{ fromMs: at('04:40:00'), toMs: at('04:45:00') }])
  closer.confirm({ fromMs: at('04:36:00'), toMs: at('04:46:00') })
  assert.deepEqual(
    confirmed,
    [
      { fromMs: at('04:36:00'), toMs: at('04:40:00') },
      { fromMs: at('04:45:00'), toMs: at('04:46:00') },
    ],
    'an answer about its rounds does not make it observed',
  )
})

test('a closed candle that loses its only answer with a block is a gap, and none any more when the answer comes back', () => {
  const { closer, updates, lost, confirmed } = openCloser()
  closer.begin(at('04:35:00'))
  const replace = (time: string) => {
    const answer = { updatedMs: at(time), roundId: 1n, price: '1' }
    const replacedMs = updates.forgetOther(answer) ?? answer.updatedMs
    updates.add(answer)
    closer.revised(Math.min(replacedMs, answer.updatedMs), 0)
  }
  replace('04:39:58')
  updates.add({ updatedMs: at('04:45:24'), roundId: 2n, price: '2' })
  closer.close({
    nowMs: at('04:45:40'),
    knownToMs: at('04:45:38'),
    soughtMs: Number.POSITIVE_INFINITY,
    firstMs: 0,
  })
  const first = { fromMs: at('04:35:00'), toMs: at('04:40:00') }
  const second = { fromMs: at('04:40:00'), toMs: at('04:45:00') }
  assert.deepEqual([lost.splice(0), confirmed.splice(0)], [[second], []])
  replace('04:40:02')
  assert.deepEqual([lost.splice(0), confirmed.splice(0)], [[first], [second]])
  replace('04:39:58')
  assert.deepEqual([lost, confirmed], [[second], [first]])
})

test('rounds that nobody can tell are a gap, also where an earlier run has observed them, and no word about the venue', () => {
  const { closer, updates, lost, reasons } = openCloser()
  closer.begin(at('04:35:00'))
  updates.add({ updatedMs: at('04:45:24'), roundId: 2n, price: '2' })
  const range = { fromMs: at('04:36:00'), toMs: at('04:39:00') }
  closer.giveUp(range)
  assert.deepEqual(lost.splice(0), [range])
  closer.close({
    nowMs: at('04:45:40'),
    knownToMs: at('04:45:38'),
    soughtMs: Number.POSITIVE_INFINITY,
    firstMs: 0,
  })
  assert.deepEqual(lost, [
    { fromMs: at('04:35:00'), toMs: at('04:40:00') },
    { fromMs: at('04:40:00'), toMs: at('04:45:00') },
  ])
  assert.deepEqual(reasons, ['not_observed', 'not_observed', 'venue_down'])
})

test('an answer that a new block puts among rounds that nobody can tell does not make their candle observed', () => {
  const { closer, updates, confirmed } = openCloser()
  closer.begin(at('04:35:00'))
  updates.add({ updatedMs: at('04:45:24'), roundId: 2n, price: '2' })
  closer.giveUp({ fromMs: at('04:36:00'), toMs: at('04:39:00') })
  closer.close({
    nowMs: at('04:45:40'),
    knownToMs: at('04:45:38'),
    soughtMs: Number.POSITIVE_INFINITY,
    firstMs: 0,
  })
  updates.add({ updatedMs: at('04:39:58'), roundId: 1n, price: '1' })
  closer.revised(at('04:39:58'), 0)
  assert.deepEqual(confirmed, [])
})
