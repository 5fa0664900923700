import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { until } from '../../../test/until.ts'
import { endAfterTest, endAll, scriptedVenue, type Visit } from '../../../test/venues/scripted-venue.ts'
import { systemClock } from '../../kit/clock.ts'
import { createSymbolMap } from '../adapter/symbol-map.ts'
import type { Channel } from '../channel.ts'
import type { Observation } from '../observation.ts'
import { hyperliquidDescription } from './describe.ts'
import { createHyperliquidReader } from './feed.ts'
import { createHyperliquid } from './venue.ts'

afterEach(endAll)

const FIRST_MS = Date.now() - 60_000

const trade = (tid: number, time = FIRST_MS + tid) => ({
  coin: 'BTC',
  side: 'B',
  px: '84143.0',
  sz: '0.1',
  time,
  hash: '0x0',
  tid,
  users: ['0x1', '0x2'],
})
const trades = (ids: number[]) => JSON.stringify({ channel: 'trades', data: ids.map((id) => trade(id)) })

/** Acknowledges as the venue does, with its defaults filled in. */
function acknowledge(visit: Visit, text: string): void {
  const { method, subscription } = JSON.parse(text)
  if (method === 'ping') {
    visit.socket.send('{"channel":"pong"}')
    return
  }
  const filled =
    subscription.type === 'l2Book'
      ? { nSigFigs: null, mantissa: null, fast: false, ...subscription }
      : subscription
  visit.socket.send(
    JSON.stringify({ channel: 'subscriptionResponse', data: { method, subscription: filled } }),
  )
  if (subscription.type === 'trades') {
    // On every subscription the venue replays about thirty old trades without marking them.
    visit.socket.send(trades(Array.from({ length: 30 }, (_, index) => lastTid - 29 + index)))
  }
}
let lastTid = 100

async function listening(channels: Channel[]) {
  const venue = await scriptedVenue({
    onOpen: (visit) => visit.socket.send('Websocket connection established.'),
    onMessage: acknowledge,
  })
  const hyperliquid = createHyperliquid({ clock: systemClock, hosts: { stream: venue.url }, random: () => 0 })
  const session = hyperliquid.live(channels, { signal: AbortSignal.timeout(60_000) })
  endAfterTest(() => session.close())
  const seen: Observation[] = []
  void (async () => {
    for await (const observation of session) seen.push(observation)
  })()
  const tids = () => seen.flatMap((each) => (each.kind === 'trade' ? [Number(each.id)] : []))
  return { venue, hyperliquid, session, seen, tids }
}

test('the replay on subscribe closes a short gap and repeats nothing', async () => {
  lastTid = 100
  const { venue, session, tids, hyperliquid } = await listening([{ topic: 'trades', symbol: 'BTC' }])
  await until('30 trades', () => tids().length === 30)
  venue.broadcast(trades([101, 102]))
  await until('32 trades', () => tids().length === 32)
  // Three trades happen while the socket is down; the replay after the reconnect contains them.
  lastTid = 105
  venue.visits[0]?.socket.terminate()
  await until('35 trades', () => tids().length === 35)
  assert.deepEqual(
    tids(),
    Array.from({ length: 35 }, (_, index) => 71 + index),
  )
  assert.equal(session.stats().repeats, 27)
  assert.equal(hyperliquid.deadLetters.total, 0, 'the greeting in plain text is no dead letter')
})

test('each channel is reported as subscribed when its acceptance came, filled-in defaults or not', async () => {
  const channels: Channel[] = [
    { topic: 'book', symbol: 'BTC' },
    { topic: 'candles', symbol: 'ETH', interval: '1m' },
    { topic: 'open_interest', symbol: 'SOL' },
  ]
  const { seen } = await listening(channels)
  const subscribed = () => seen.flatMap((each) => (each.kind === 'subscribed' ? [each.channel] : []))
  await until('every channel is subscribed', () => subscribed().length === channels.length)
  for (const channel of channels)
    assert.ok(subscribed().some((each) => JSON.stringify(each) === JSON.stringify(channel)))
})

test('one bad trade does not spoil the others of its frame, and is reported', () => {
  const reader = createHyperliquidReader(createSymbolMap(hyperliquidDescription.symbols))
  const frame = JSON.stringify({ channel: 'trades', data: [trade(1), { ...trade(2), px: 'NaN' }, trade(3)] })
  const outcome = reader.read(frame, 1)
  assert.ok(outcome.kind === 'data')
  assert.equal(outcome.items.length, 2)
  assert.equal(outcome.refused, 'wrong_shape')
})

test('fast books, which no plan records, are ignored', () => {
  const reader = createHyperliquidReader(createSymbolMap(hyperliquidDescription.symbols))
  const read = (fast: boolean) => {
    const levels = [[{ px: '1', sz: '2', n: 3 }], []]
    return reader.read(JSON.stringify({ channel: 'l2Book', data: { coin: 'BTC', time: 5, levels, fast } }), 1)
  }
  assert.deepEqual([read(true).kind, read(false).kind], ['ignored', 'data'])
})
