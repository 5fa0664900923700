import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { seededRandom } from '../../../test/seeded-random.ts'
import { createLogger } from '../../kit/log.ts'
import { type Channel, channelKey } from '../../venues/channel.ts'
import type { AggregateTradeObservation, BestBidAskObservation } from '../../venues/observation.ts'
import type { Witness } from '../../venues/venue.ts'
import { ASK_QUIET_AGAIN, REPLACE_AGAIN, watchSilence } from './watch-silence.ts'

const MINUTE_MS = 60_000
const START_MS = Date.UTC(2026, 10, 1)
const CHANNELS: Channel[] = (['BTC', 'ETH', 'SOL', 'XRP'] as const).map((symbol) => ({
  topic: 'aggregate_trades',
  symbol,
}))
const KNOWN_ID = 7

function trade(channel: Channel, atMs: number): AggregateTradeObservation {
  return {
    ...{ kind: 'aggregate_trade', source: 'cexa', symbol: channel.symbol, instrument: 'X', key: null },
    ...{ venueTimeMs: atMs, receivedMs: atMs, id: KNOWN_ID, firstTradeId: 1, lastTradeId: 1 },
    ...{ price: '1', size: '1', side: 'buy' },
  }
}

/** The watch on a manual clock, with a venue whose answers the test chooses. */
function rig(answer: (channel: Channel) => Promise<Witness | undefined>) {
  const clock = manualClock(START_MS)
  const stop = new AbortController()
  const asked: { key: string; atMs: number }[] = []
  const replaced: number[] = []
  const faults: string[] = []
  const faultsSince: { key: string; sinceMs: number }[] = []
  const watch = watchSilence({
    clock,
    signal: stop.signal,
    log: createLogger({ level: 'silent' }),
    venue: {
      witness: (channel) => {
        asked.push({ key: channelKey(channel), atMs: clock.now() })
        return answer(channel)
      },
    },
    session: { reconnect: () => void replaced.push(clock.now()) },
    onFault(channel, sinceMs, reason) {
      faults.push(`${channelKey(channel)} ${reason}`)
      faultsSince.push({ key: channelKey(channel), sinceMs })
    },
  })
  for (const channel of CHANNELS) watch.receive(channelKey(channel), trade(channel, START_MS))
  return {
    ...{ clock, watch, asked, replaced, faults, faultsSince, stop },
    stale: (channel: Channel) =>
      watch.stale({
        ...{ kind: 'stale', source: 'cexa', receivedMs: clock.now(), channel, lastReceivedMs: START_MS },
      }),
    async pass(ms: number) {
      clock.advance(ms)
      for (let turn = 0; turn < 8; turn++) await Promise.resolve()
    },
  }
}

const quietVenue = async (): Promise<Witness> => ({ newestMs: START_MS, newestId: KNOWN_ID })
const aheadVenue = async (): Promise<Witness> => ({ newestMs: START_MS, newestId: KNOWN_ID + 1 })

test('over hours of reported silence a quiet channel is requested by one loop, at a bounded and constant rate', async (t) => {
  const random = seededRandom(t)
  const { asked, stale, pass, clock, watch, stop, replaced } = rig(quietVenue)
  const HOURS = 6
  for (let minute = 0; minute < HOURS * 60; minute++) {
    for (let second = 0; second < 60; second++) {
      // A feed reports the same silence again when its socket is renewed or comes back.
      for (const channel of CHANNELS) if (random() < 0.2) stale(channel)
      await pass(1_000)
      assert.ok(clock.sleepers <= CHANNELS.length, `${clock.sleepers} timers`)
      assert.ok(watch.stats().watched <= CHANNELS.length)
      assert.ok(watch.stats().loops <= CHANNELS.length)
    }
  }
  const perMinute = Array.from({ length: HOURS * 60 }, () => 0)
  for (const { atMs } of asked) {
    const minute = Math.floor((atMs - START_MS) / MINUTE_MS)
    // A request at the very last instant belongs to a minute that was not simulated.
    if (minute < perMinute.length) perMinute[minute] = (perMinute[minute] ?? 0) + 1
  }
  assert.ok((perMinute[0] ?? 0) <= 4 * CHANNELS.length, `${perMinute[0]} in the first minute`)
  const steady = new Set(perMinute.slice(5))
  assert.deepEqual([...steady], [CHANNELS.length * (MINUTE_MS / ASK_QUIET_AGAIN.capMs)])
  assert.deepEqual(replaced, [], 'a quiet market needs no new socket')
  stop.abort()
  await pass(0)
  assert.equal(clock.sleepers, 0, 'nothing is left after the end')
  assert.equal(watch.stats().watched, 0)
})

test('a socket that stays silent is replaced after pauses that grow to a bound, and at once after data', async () => {
  const { asked, stale, pass, clock, replaced, faults, watch } = rig(aheadVenue)
  const [channel] = CHANNELS
  assert.ok(channel !== undefined)
  for (let second = 0; second < 3_600; second++) {
    if (second % 7 === 0) stale(channel)
    await pass(1_000)
    assert.ok(clock.sleepers <= 1)
  }
  const pauses = replaced.slice(1).map((atMs, index) => atMs - (replaced[index] ?? 0))
  assert.ok(pauses.length > 5 && pauses.length < 40, `${pauses.length} replacements in an hour`)
  for (const [index, pause] of pauses.entries())
    assert.ok(pause >= (pauses[index - 1] ?? 0), pauses.join(' '))
  assert.equal(pauses.at(-1), REPLACE_AGAIN.capMs)
  assert.equal(asked.length, replaced.length)
  assert.deepEqual(faults, ['aggregate_trades:BTC not_observed'], 'one silence is one fault')
  watch.receive(channelKey(channel), trade(channel, clock.now()))
  await pass(0)
  assert.equal(clock.sleepers, 0, 'a channel that sends is not watched')
  const before = replaced.length
  stale(channel)
  await pass(0)
  assert.equal(replaced.length, before + 1)
  await pass(REPLACE_AGAIN.baseMs)
  assert.equal(replaced.length, before + 2)
  assert.equal(faults.length, 2)
})

test('a silence that begins while the pause of the one before still runs is judged', async () => {
  const { asked, stale, pass, watch } = rig(quietVenue)
  const [channel] = CHANNELS
  assert.ok(channel !== undefined)
  stale(channel)
  await pass(50_000)
  await pass(1_000)
  const before = asked.length
  watch.receive(channelKey(channel), trade(channel, START_MS + 51_000))
  stale(channel)
  await pass(0)
  assert.equal(asked.length, before + 1)
  watch.answered(channelKey(channel))
  assert.equal(watch.stats().watched, 0)
  await pass(10 * MINUTE_MS)
  assert.equal(asked.length, before + 1, 'a channel that answered is not requested again')
})

test('a venue that cannot answer counts as down, and gets no more requests for it', async () => {
  const { asked, stale, pass, faults } = rig(() => Promise.reject(new Error('refused')))
  for (let second = 0; second < 3_600; second++) {
    for (const channel of CHANNELS) stale(channel)
    await pass(1_000)
  }
  assert.deepEqual(
    faults,
    CHANNELS.map((channel) => `${channelKey(channel)} venue_down`),
  )
  assert.ok(asked.length < 40 * CHANNELS.length, `${asked.length} requests in an hour`)
})

test('where another channel of the symbol failed, quotes that ended with it are not trusted for their own long limit', async () => {
  const { stale, pass, faults, watch, clock } = rig(() => Promise.reject(new Error('Invalid symbol.')))
  const quote = (symbol: 'BTC' | 'ETH' | 'SOL', atMs: number): BestBidAskObservation => ({
    ...{ kind: 'best_bid_ask', source: 'cexa', symbol, instrument: 'X', key: null, updateId: 1 },
    ...{ venueTimeMs: atMs, receivedMs: atMs, bid: ['1', '1'], ask: ['2', '1'] },
  })
  for (const key of ['best_bid_ask:BTC', 'best_bid_ask:ETH', 'best_bid_ask:SOL']) watch.up(key, START_MS)
  watch.receive('best_bid_ask:BTC', quote('BTC', START_MS + 500))
  watch.receive('best_bid_ask:SOL', quote('SOL', START_MS))
  await pass(6_000)
  watch.receive('best_bid_ask:ETH', quote('ETH', clock.now()))
  for (const channel of CHANNELS.slice(0, 2)) stale(channel)
  await pass(0)
  await pass(0)
  assert.deepEqual(faults, [
    'aggregate_trades:BTC venue_down',
    'aggregate_trades:ETH venue_down',
    'best_bid_ask:BTC venue_down',
  ])
})

test('quotes that have sent nothing since they were subscribed are not trusted either, where another channel failed', async () => {
  const { stale, pass, watch, faultsSince } = rig(aheadVenue)
  const old: BestBidAskObservation = {
    ...{ kind: 'best_bid_ask', source: 'cexa', symbol: 'ETH', instrument: 'X', key: null, updateId: 1 },
    ...{ venueTimeMs: START_MS - MINUTE_MS, receivedMs: START_MS - MINUTE_MS },
    ...{ bid: ['1', '1'], ask: ['2', '1'] },
  }
  // The first never sent a quote, the second has sent none since its socket was lost, the third is not subscribed.
  watch.receive('best_bid_ask:ETH', old)
  watch.up('best_bid_ask:BTC', START_MS + 300)
  watch.up('best_bid_ask:ETH', START_MS + 400)
  await pass(6_000)
  for (const channel of CHANNELS.slice(0, 3)) stale(channel)
  await pass(0)
  await pass(0)
  assert.deepEqual(
    faultsSince.filter(({ key }) => key.startsWith('best_bid_ask')),
    [
      { key: 'best_bid_ask:BTC', sinceMs: START_MS + 300 },
      { key: 'best_bid_ask:ETH', sinceMs: START_MS + 400 },
    ],
  )
})

test('quotes that come back before the venue has answered were silent by a fault; after an answer they were quiet', async () => {
  const quotes: Channel = { topic: 'best_bid_ask', symbol: 'BTC' }
  const trades: Channel = { topic: 'aggregate_trades', symbol: 'BTC' }
  const unanswered = rig(() => new Promise(() => {}))
  for (const channel of [quotes, trades]) {
    unanswered.stale(channel)
    await unanswered.pass(5_000)
    unanswered.watch.receive(channelKey(channel), trade(channel, unanswered.clock.now()))
  }
  assert.deepEqual(unanswered.faults, ['best_bid_ask:BTC not_observed'])
  const quiet = rig(quietVenue)
  quiet.watch.receive(channelKey(quotes), trade(quotes, START_MS))
  quiet.stale(quotes)
  await quiet.pass(5_000)
  quiet.watch.receive(channelKey(quotes), trade(quotes, quiet.clock.now()))
  assert.deepEqual(quiet.faults, [])
})
