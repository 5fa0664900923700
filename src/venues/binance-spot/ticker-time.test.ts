/** Spot quotes have no time: which one they get, in a real recording and in worse conditions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../test/seeded-random.ts'
import { fixtureText, withoutFixtures } from '../../../test/venues/fixtures.ts'
import type { BestBidAskObservation } from '../observation.ts'
import { createSpotReader } from './mapper.ts'

const RECORDING = 'btcusdt-raw-combined-stream-midnight-20240809.jsonl'
const reader = () => createSpotReader({ fromVenue: () => 'BTC' })

/** The quotes that a reader makes of frames, in order. */
function quotesOf(frames: readonly { text: string; receivedMs: number }[]): BestBidAskObservation[] {
  const { read } = reader()
  return frames.flatMap(({ text, receivedMs }) => {
    const outcome = read(text, receivedMs)
    if (outcome.kind !== 'data') return []
    return outcome.items.flatMap(({ observation }) =>
      observation.kind === 'best_bid_ask' ? [observation] : [],
    )
  })
}

test('recorded quotes lie in the second of the venue, though the recorder was 1.27 s slow', {
  skip: withoutFixtures('binance-spot'),
}, () => {
  const lines = fixtureText('binance-spot', RECORDING)
    .trim()
    .split('\n')
    .map(
      (line) =>
        JSON.parse(line) as { recv_ns: string; msg: { stream: string; data: Record<string, unknown> } },
    )
  const frames = lines.map(({ recv_ns, msg }) => ({
    text: JSON.stringify(msg),
    receivedMs: Math.floor(Number(BigInt(recv_ns) / 1_000_000n)),
  }))
  // The depth updates are dated and show between which two of them each quote was made.
  const changes = lines
    .filter(({ msg }) => msg.stream.includes('depth'))
    .map(({ msg }) => ({ last: Number(msg.data.u), timeMs: Number(msg.data.E) }))
  const quotes = quotesOf(frames)
  assert.equal(quotes.length, lines.filter(({ msg }) => msg.stream.endsWith('bookTicker')).length)
  let compared = 0
  for (const { updateId, venueTimeMs, receivedMs } of quotes) {
    const after = changes.findIndex(({ last }) => last >= (updateId ?? 0))
    const [from, to] = [changes[after - 1], changes[after]]
    if (from === undefined || to === undefined) continue
    compared += 1
    assert.ok(venueTimeMs >= from.timeMs - 3 && venueTimeMs <= to.timeMs + 3, `${updateId} at ${venueTimeMs}`)
    assert.ok(venueTimeMs - receivedMs > 1_100, 'the clock of the recorder is not the one of the venue')
  }
  assert.ok(compared > 500)
})

test('under any error of our clock and any delay of the way, a quote lies between the frames around it, or 100 ms after', (t) => {
  const random = seededRandom(t)
  for (let round = 0; round < 20; round++) {
    let wrongMs = random.int(-10_000, 10_000)
    const frames: { text: string; receivedMs: number }[] = []
    const truth: { timeMs: number; beforeMs: number }[] = []
    let venueMs = Date.UTC(2026, 10, 1) + random.int(0, 999)
    let arrivesMs = 0
    let stalledToMs = 0
    let datedMs = venueMs
    const dated = () => {
      const k = { t: 0, T: 999, s: 'X', i: '1s', o: '1', c: '1', h: '1', l: '1', v: '1', n: 1, x: false }
      datedMs = venueMs
      return { e: 'kline', E: venueMs, s: 'X', k: { ...k, q: '1', V: '1', Q: '1' } }
    }
    for (let id = 0; id <= 600; id++) {
      venueMs += random.int(1, 60)
      // Sometimes the connection stalls and everything waiting arrives at once, and sometimes our clock is set.
      if (random() < 0.02) stalledToMs = venueMs + random.int(500, 5_000)
      if (random() < 0.01) wrongMs = random.int(-10_000, 10_000)
      arrivesMs = Math.max(arrivesMs, venueMs + random.int(2, 12), stalledToMs)
      const isDated = id === 0 || id === 600 || random() < 0.3
      const message = isDated ? dated() : { u: id, s: 'X', b: '1', B: '1', a: '2', A: '1' }
      frames.push({ text: JSON.stringify(message), receivedMs: arrivesMs + wrongMs })
      if (!isDated) truth.push({ timeMs: venueMs, beforeMs: datedMs })
    }
    const quotes = quotesOf(frames)
    assert.equal(quotes.length, truth.length)
    const dates = frames.flatMap(({ text }) => JSON.parse(text).E ?? [])
    for (const [index, { venueTimeMs }] of quotes.entries()) {
      const real = truth[index]
      assert.ok(real !== undefined)
      const afterMs = dates.find((eventMs) => eventMs >= real.timeMs)
      assert.ok(
        venueTimeMs >= real.beforeMs && venueTimeMs <= afterMs + 100,
        `${venueTimeMs} of ${real.timeMs}`,
      )
    }
  }
})

test('quotes without a frame just before them wait for the next; where none comes they get our clock after five seconds', () => {
  const E = Date.UTC(2026, 10, 1)
  const quote = (u: number) => JSON.stringify({ u, s: 'BTCUSDT', b: '1', B: '1', a: '2', A: '1' })
  const trade = (at: number) =>
    JSON.stringify({ e: 'aggTrade', E: at, s: 'BTCUSDT', a: 1, p: '1', q: '1', f: 1, l: 1, T: at, m: true })
  const { read } = reader()
  const timesOf = (text: string, receivedMs: number) => {
    const outcome = read(text, receivedMs)
    assert.ok(outcome.kind === 'data')
    return outcome.items.map(({ channel, observation }) => [
      channel.split(':')[0],
      observation.venueTimeMs - E,
    ])
  }
  assert.deepEqual(timesOf(quote(1), 1_000), [])
  assert.deepEqual(timesOf(quote(2), 1_050), [])
  const first = [
    ['best_bid_ask', 0],
    ['best_bid_ask', 50],
    ['aggregate_trades', 100],
  ]
  assert.deepEqual(timesOf(trade(E + 100), 1_100), first)
  assert.deepEqual(timesOf(quote(3), 1_140), [['best_bid_ask', 140]])
  // A time in another unit does not count.
  assert.deepEqual(timesOf(trade((E + 150) * 1_000), 1_150).length, 1)
  // The connection stalled: the quote arrived together with the frame after it and is not later.
  assert.deepEqual(timesOf(quote(4), 4_200), [])
  const second = [
    ['best_bid_ask', 200],
    ['aggregate_trades', 200],
  ]
  assert.deepEqual(timesOf(trade(E + 200), 4_200), second)

  // Waiting quotes count as received when they are emitted, so that a silence in between stays a silence.
  const muted = reader()
  muted.read(trade(E), 1_000)
  muted.read(quote(5), 1_150)
  const released = muted.read(trade(E + 25_000), 26_000)
  assert.ok(released.kind === 'data')
  const [waited] = released.items.map(({ observation }) => observation)
  assert.deepEqual([waited?.venueTimeMs, waited?.receivedMs], [E + 150, 26_000])

  // The frame before was long on its way, the one after was not.
  const slow = reader()
  slow.read(trade(E), 1_700)
  slow.read(quote(6), 61_600)
  const after = slow.read(trade(E + 61_000), 62_010)
  assert.ok(after.kind === 'data')
  assert.equal(after.items[0]?.observation.venueTimeMs, E + 60_590)

  const alone = reader()
  for (let at = 0; at <= 5_000; at += 500)
    assert.deepEqual(alone.read(quote(at), at), { kind: 'data', items: [] })
  const late = alone.read(quote(9), 5_500)
  assert.ok(late.kind === 'data')
  assert.deepEqual([late.items.length, late.items[0]?.observation.venueTimeMs], [12, 0])
})

test('a frame that others have overtaken dates no quote; one without a newer beside it does: the venue set its clock back', () => {
  const E = Date.UTC(2026, 10, 1)
  const quote = (u: number) => ({ u, s: 'BTCUSDT', b: '1', B: '1', a: '2', A: '1' })
  const trade = (a: number, at: number) => ({
    ...{ e: 'aggTrade', E: at, s: 'BTCUSDT', a, p: '1', q: '1', f: a, l: a, T: at, m: true },
  })
  const sent: [message: object, receivedMs: number][] = [
    [trade(2, E + 2_000), 2_010],
    [trade(1, E), 2_020],
    [quote(1), 2_050],
    // Half a second later this frame counts as the newest.
    [trade(3, E + 1_000), 2_600],
    [quote(2), 2_640],
  ]
  const quotes = quotesOf(
    sent.map(([message, receivedMs]) => ({ text: JSON.stringify(message), receivedMs })),
  )
  assert.deepEqual(
    quotes.map(({ venueTimeMs }) => venueTimeMs - E),
    [2_040, 1_040],
  )
})
