import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { endAll, scriptedVenue } from '../../../test/venues/scripted-venue.ts'
import { BTC, ETH, frameOf, listen, QUICK, toyProtocol } from '../../../test/venues/toy-feed.ts'
import type { Channel } from '../channel.ts'
import { createDeadLetters } from '../dead-letter.ts'
import type { AggregateTradeObservation, CandleObservation, DataObservation } from '../observation.ts'
import { data, type FrameProtocol } from './frame.ts'
import { Intake } from './intake.ts'
import { withoutImplausible } from './plausible.ts'

afterEach(endAll)

const NOW_MS = Date.parse('2026-11-10T12:00:30Z')
const HOUR_MS = 3_600_000
const NUMBERED: Channel = { topic: 'aggregate_trades', symbol: 'BTC' }
const ROUTE = { name: 'toy', url: 'ws://toy', channels: [NUMBERED], greeting: [] }

const about = {
  source: 'cexa',
  symbol: 'BTC',
  instrument: 'BTCUSDT',
  venueTimeMs: NOW_MS,
  receivedMs: NOW_MS,
  key: null,
} as const

const numbered = (id: number, venueTimeMs = NOW_MS, receivedMs = NOW_MS): AggregateTradeObservation => ({
  ...about,
  kind: 'aggregate_trade',
  ...{ venueTimeMs, receivedMs, id, firstTradeId: id, lastTradeId: id },
  ...{ price: '1', size: '1', side: 'buy' },
})

const candle = (openTimeMs: number): CandleObservation => ({
  ...about,
  kind: 'candle',
  ...{ interval: '1m', openTimeMs, closeTimeMs: openTimeMs + 59_999, closed: false },
  ...{ open: '1', high: '1', low: '1', close: '1', volume: '1', tradeCount: 1 },
  ...{ quoteVolume: null, takerBuyVolume: null, takerBuyQuoteVolume: null },
})

const judge = (observation: DataObservation) => withoutImplausible(data('any', observation))

test('a time of tomorrow, of 1970 or of no time at all is refused, a late one is not', () => {
  const refused = { kind: 'refused', reason: 'implausible' }
  for (const timeMs of [NOW_MS + 24 * HOUR_MS, NOW_MS / 1_000, NOW_MS * 1_000, 0, Number.NaN])
    assert.deepEqual(judge(numbered(1, timeMs)), refused, String(timeMs))
  for (const timeMs of [NOW_MS + 2_000, NOW_MS - 5 * 60_000])
    assert.equal(judge(numbered(1, timeMs)).kind, 'data', String(timeMs))
  const minuteMs = Math.floor(NOW_MS / 60_000) * 60_000
  for (const openMs of [minuteMs + 24 * HOUR_MS, minuteMs - 2 * HOUR_MS, minuteMs + 1, minuteMs / 1_000])
    assert.deepEqual(judge(candle(openMs)), refused, String(openMs))
  assert.equal(judge(candle(minuteMs)).kind, 'data')
})

test('what is right in a frame is kept beside what is not', () => {
  const items = [numbered(1), numbered(2, NOW_MS + HOUR_MS)].map((observation) => ({
    channel: 'aggregate_trades:BTC',
    observation,
  }))
  const outcome = withoutImplausible({ kind: 'data', items })
  assert.deepEqual(outcome, { kind: 'data', items: items.slice(0, 1), refused: 'implausible' })
})

function createIntake() {
  const deadLetters = createDeadLetters({ venue: 'toy' })
  const intake = new Intake({
    source: 'cexa',
    clock: { now: () => NOW_MS, sleep: () => Promise.reject(new Error('nothing waits here')) },
    limits: QUICK,
    deadLetters,
    silenceOf: () => null,
    onPressure: () => {},
    onData: () => {},
  })
  intake.watch.add(NUMBERED, () => true)
  const take = async (observation: DataObservation) => {
    intake.frame(ROUTE, data('aggregate_trades:BTC', observation), 'text')
    const taken = intake.queue.size === 0 ? [] : await intake.queue.take()
    return taken.map(({ kind }) => kind)
  }
  return { deadLetters, take }
}

test('a number far ahead is a dead letter and a gap, and makes no repeats of what follows', async () => {
  const { take, deadLetters } = createIntake()
  assert.deepEqual(await take(numbered(1_000)), ['aggregate_trade'])
  for (const id of [9_000_000, Number.MAX_SAFE_INTEGER])
    assert.deepEqual(await take(numbered(id)), ['damaged'])
  assert.deepEqual(await take(numbered(1_001)), ['aggregate_trade'])
  assert.deepEqual(await take(numbered(1_001)), [], 'a repeat')
  assert.deepEqual(deadLetters.counts(), { implausible: 2 })
  // The numbers have continued during an outage.
  assert.deepEqual(await take(numbered(500_000, NOW_MS + 120_000, NOW_MS + 120_000)), ['aggregate_trade'])
})

test('where the first number was wrong, the right ones count after half a minute', async () => {
  const { take } = createIntake()
  await take(numbered(9_000_000_000))
  assert.deepEqual(await take(numbered(1_000)), ['damaged'])
  const laterMs = NOW_MS + 31_000
  assert.deepEqual(await take(numbered(1_001, laterMs, laterMs)), ['aggregate_trade'])
  assert.deepEqual(await take(numbered(1_002, laterMs, laterMs)), ['aggregate_trade'])
})

test('a time far behind the newest of its channel is refused, until nothing else comes', async () => {
  const { take } = createIntake()
  const at = (id: number, behindMs: number, receivedMs: number) =>
    take(numbered(id, receivedMs - behindMs, receivedMs))
  assert.deepEqual(await at(1, 0, NOW_MS), ['aggregate_trade'])
  assert.deepEqual(await at(2, 20_000, NOW_MS + 1), ['aggregate_trade'], 'late')
  assert.deepEqual(await at(3, 600_000, NOW_MS + 2), ['damaged'])
  assert.deepEqual(await at(4, 600_000, NOW_MS + 40_000), ['aggregate_trade'], 'a clock that was set back')
  assert.deepEqual(await at(5, 600_000, NOW_MS + 40_001), ['aggregate_trade'])
})

test('a reader that throws costs its own socket, with a gap, and no other', async () => {
  const venue = await scriptedVenue({ onOpen: (visit, index) => visit.socket.send(frameOf(index)) })
  const protocol: FrameProtocol = {
    ...toyProtocol,
    read(text, receivedMs) {
      if (text === 'boom') throw new TypeError('Cannot convert object to primitive value')
      return toyProtocol.read(text, receivedMs)
    },
  }
  const routes = [BTC, ETH].map((channel) => ({
    ...{ name: channel.symbol, url: `${venue.url}/${channel.symbol}`, greeting: [] },
    channels: [channel],
  }))
  const feed = listen(venue.url, { routes, protocol })
  await feed.until(() => venue.open().length === 2 && feed.ids().length > 0)
  const [first, second] = venue.open()
  first?.socket.send('boom')
  await feed.until(() => feed.kinds().includes('disconnected'))
  await feed.until(() => venue.open().length === 2)
  assert.ok(second !== undefined && venue.open().includes(second), 'the other one is still open')
  assert.ok(feed.kinds().includes('damaged'))
  assert.deepEqual(feed.deadLetters.counts(), { malformed: 1 })
  await feed.close()
  await venue.close()
})
