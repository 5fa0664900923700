import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collect, fastClock, startLoopback } from '../../../test/predictions/loopback.ts'
import { createReferenceReader } from './reference-feed.ts'
import { createPolymarket } from './venue.ts'

const START_MS = Date.UTC(2026, 10, 15)
const SPOT = 'crypto_prices_chainlink'
const MEAN = 'crypto_prices_twap_sixty'
const EXCHANGE = 'crypto_prices'

const frame = (topic: string, timestamp: number) => ({
  topic,
  type: 'update',
  timestamp,
  payload: { symbol: topic === EXCHANGE ? 'btcusdt' : 'btc/usd', timestamp, value: 65_000 },
})

test('a tick counts as a sign of life only while every topic that was asked for arrives', () => {
  const reader = createReferenceReader([SPOT, MEAN, EXCHANGE])
  const isPartial = (topic: string, second: number) => {
    const atMs = START_MS + second * 1_000
    const outcome = reader.read(JSON.stringify(frame(topic, atMs)), atMs)
    const [item] = outcome.kind === 'data' ? outcome.items : []
    assert.ok(item?.observation.kind === 'reference_price')
    return item.observation.isPartial === true
  }
  assert.equal(isPartial(SPOT, 0), true)
  assert.equal(isPartial(MEAN, 0), true)
  assert.equal(isPartial(EXCHANGE, 0), false, 'now all arrive')
  assert.equal(isPartial(SPOT, 10), false)
  assert.equal(isPartial(EXCHANGE, 10), false)
  assert.equal(isPartial(SPOT, 11), true, 'the mean is silent for longer than it may be')
  assert.equal(isPartial(MEAN, 12), false)
})

test('a mean that is never sent while the spot price flows is a silent channel; the spot ticks are received all the same', async (t) => {
  let lostMean = true
  const server = await startLoopback({ answer: () => [] })
  t.after(() => server.close())
  const clock = fastClock(START_MS, 20)
  const venue = createPolymarket({
    clock,
    hosts: {
      rest: server.http,
      clob: server.http,
      data: server.http,
      stream: server.ws,
      reference: server.ws,
      bolt: server.ws,
    },
  })
  const received = collect(
    venue.live([{ topic: 'reference_price', symbol: 'BTC' }], { signal: new AbortController().signal }),
  )
  t.after(() => received.close())
  const ticking = setInterval(() => {
    for (const topic of [SPOT, EXCHANGE, ...(lostMean ? [] : [MEAN])]) server.send(frame(topic, clock.now()))
  }, 50)
  t.after(() => clearInterval(ticking))
  await received.until(() => received.of('stale').length === 1, 'the silence')
  assert.ok(received.of('reference_price').length > 0)
  assert.ok(received.of('reference_price').every(({ isPartial }) => isPartial === true))
  lostMean = false
  const isWhole = () =>
    received.of('reference_price').some((tick) => tick.settlement.windowSeconds === 60 && !tick.isPartial)
  await received.until(isWhole, 'all three')
})
