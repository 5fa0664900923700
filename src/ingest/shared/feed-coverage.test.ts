import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FeedCoverage } from './feed-coverage.ts'
import { feedOf } from './feeds.ts'

const UNLIMITED = Number.POSITIVE_INFINITY

/** A feed that logs its records as text, without the empty ranges, which the writer ignores. */
function startFeed() {
  const records: string[] = []
  const record = (kind: string) => (_feed: unknown, fromMs: number, toMs: number, reason?: unknown) => {
    if (toMs > fromMs) records.push([kind, fromMs, toMs, ...(reason === undefined ? [] : [reason])].join(' '))
  }
  const feed = new FeedCoverage(
    { feed: feedOf('trades', 'perpdex', 'BTC'), channels: ['trades:BTC'] },
    { observed: record('observed'), unobserved: record('retracted'), gap: record('gap') },
  )
  return { feed, records: () => records.splice(0) }
}

test('coverage skips a doubted range when it reaches it, and no wider one', () => {
  const { feed, records } = startFeed()
  feed.begin(0)
  feed.coverTo(10, UNLIMITED)
  assert.deepEqual(records(), ['observed 0 10'])
  assert.equal(feed.doubt({ fromMs: 20, toMs: 30 }), true)
  assert.deepEqual(records(), ['gap 20 30 not_observed'])
  feed.coverTo(25, UNLIMITED)
  feed.coverTo(40, UNLIMITED)
  assert.deepEqual(records(), ['observed 10 20', 'observed 30 40'])
})

test('a failure retracts what was recorded after it, except for what the venue confirmed', () => {
  const { feed, records } = startFeed()
  feed.begin(0)
  feed.coverTo(100, UNLIMITED)
  feed.confirmed(60)
  records()
  feed.fail(50, 'venue_down', UNLIMITED)
  feed.recordOpenGap(120)
  assert.equal(feed.isCovering, false)
  assert.deepEqual(records(), ['retracted 60 100', 'gap 60 120 venue_down'])
})

test('an open gap leaves out ranges that were lost for another reason', () => {
  const { feed, records } = startFeed()
  feed.begin(0)
  feed.fail(10, 'not_observed', UNLIMITED)
  records()
  feed.lost({ fromMs: 20, toMs: 30 })
  // A range that lies within the other one.
  feed.lost({ fromMs: 22, toMs: 25 })
  feed.begin(40)
  assert.deepEqual(records(), ['gap 10 20 not_observed', 'gap 30 40 not_observed'])
})

test('neither the limit of the feed nor that of a channel is passed', () => {
  const { feed, records } = startFeed()
  feed.begin(0)
  feed.limit(50)
  feed.coverTo(100, 30)
  feed.coverTo(100, UNLIMITED)
  assert.deepEqual(records(), ['observed 0 30', 'observed 30 50'])
})

test('where the clock of the venue is ahead of ours, coverage starts that much after the subscription, and only there', () => {
  const { feed, records } = startFeed()
  feed.begin(1_000)
  feed.coverTo(900, UNLIMITED, 200)
  feed.coverTo(1_500, UNLIMITED, 200)
  feed.coverTo(2_500, UNLIMITED, 300)
  assert.deepEqual(records(), ['observed 1200 1500', 'observed 1500 2500'])
  feed.fail(2_000, 'venue_down', UNLIMITED, 300)
  feed.begin(3_000)
  records()
  feed.fail(3_100, 'venue_down', UNLIMITED, 300)
  assert.deepEqual(records(), [], 'nothing was observed before it was lost again')
})

test('a failure that began before a known gap retracts what was observed in between', () => {
  const { feed, records } = startFeed()
  feed.begin(0)
  feed.coverTo(100, UNLIMITED)
  feed.fail(80, 'venue_down', UNLIMITED)
  records()
  feed.fail(50, 'not_observed', UNLIMITED)
  feed.recordOpenGap(120)
  assert.deepEqual(records(), ['retracted 50 80', 'gap 50 120 venue_down'])
  feed.fail(90, 'not_observed', UNLIMITED)
  feed.recordOpenGap(130)
  assert.deepEqual(records(), ['gap 50 130 venue_down'], 'a later failure does not move the start')
})

test('an open gap goes on behind what the venue has answered for, and coverage begins there', () => {
  const { feed, records } = startFeed()
  feed.begin(0)
  feed.fail(10, 'venue_down', UNLIMITED)
  records()
  feed.confirmed(5)
  feed.recordOpenGap(20)
  feed.confirmed(30)
  feed.recordOpenGap(40)
  assert.deepEqual(records(), ['gap 10 20 venue_down', 'gap 30 40 venue_down'])
  feed.confirmed(60)
  feed.begin(50)
  feed.coverTo(70, UNLIMITED)
  assert.deepEqual([feed.coveredTo, records()], [70, ['observed 60 70']])
})

test('a range that is left out stays so when its channel fails and returns within it', () => {
  const { feed, records } = startFeed()
  feed.begin(0)
  feed.coverTo(10, UNLIMITED)
  feed.doubt({ fromMs: 20, toMs: 40 })
  feed.coverTo(25, UNLIMITED)
  feed.fail(26, 'venue_down', UNLIMITED)
  feed.begin(30)
  records()
  feed.coverTo(50, UNLIMITED)
  assert.deepEqual(records(), ['observed 40 50'])
})

test('a doubt concerns nothing that the venue has answered for', () => {
  const { feed, records } = startFeed()
  feed.begin(0)
  feed.coverTo(100, UNLIMITED)
  feed.confirmed(60)
  records()
  assert.equal(feed.doubt({ fromMs: 50, toMs: 60 }), false)
  assert.equal(feed.doubt({ fromMs: 50, toMs: 70 }), true)
  assert.deepEqual(records(), ['retracted 60 70', 'gap 60 70 not_observed'])
})

test('where coverage starts later than its channels, the gap before it goes on until then', () => {
  const { feed, records } = startFeed()
  feed.begin(0)
  feed.coverTo(10, UNLIMITED)
  feed.fail(10, 'venue_down', UNLIMITED)
  feed.begin(20)
  records()
  feed.startAt(35)
  feed.coverTo(50, UNLIMITED)
  assert.deepEqual(records(), ['gap 20 35 venue_down', 'observed 35 50'])
})

test('what lacks nothing but data that is requested is observed again when the data is there', () => {
  const { feed, records } = startFeed()
  feed.begin(0)
  feed.coverTo(100, UNLIMITED)
  records()
  assert.equal(feed.unreceived({ fromMs: 40, toMs: 60 }), true)
  assert.equal(feed.unreceived({ fromMs: 95, toMs: 120 }), true)
  feed.coverTo(110, UNLIMITED)
  feed.coverTo(130, UNLIMITED)
  assert.deepEqual(records(), ['observed 120 130'])
  feed.received({ fromMs: 50, toMs: 200 })
  assert.deepEqual(records(), ['observed 50 60 true', 'observed 95 120 true'])
  feed.received({ fromMs: 0, toMs: 200 })
  assert.deepEqual(records(), ['observed 40 50 true'])
})

test('what is missing for another reason too does not come back with that data', () => {
  const { feed, records } = startFeed()
  feed.begin(0)
  feed.coverTo(100, UNLIMITED)
  feed.unreceived({ fromMs: 20, toMs: 200 })
  feed.lost({ fromMs: 30, toMs: 40 })
  feed.fail(80, 'venue_down', UNLIMITED)
  records()
  feed.received({ fromMs: 0, toMs: 25 })
  assert.deepEqual(records(), ['observed 20 25 true'])
  feed.begin(150)
  records()
  feed.coverTo(250, UNLIMITED)
  assert.deepEqual(records(), ['observed 200 250'], 'still lacking after the failure')
  feed.received({ fromMs: 0, toMs: 300 })
  assert.deepEqual(records(), ['observed 25 30 true', 'observed 40 80 true', 'observed 150 200 true'])
})

test('data that is missing from the beginning leaves no gap before the first observation', () => {
  const { feed, records } = startFeed()
  assert.equal(feed.unreceived({ fromMs: 0, toMs: 10 }), false)
  feed.begin(5)
  feed.coverTo(20, UNLIMITED)
  assert.deepEqual(records(), ['observed 10 20'])
})
