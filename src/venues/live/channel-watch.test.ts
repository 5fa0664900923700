import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BTC } from '../../../test/venues/toy-feed.ts'
import { mapFundingRows } from '../binance-futures/mapper.ts'
import type { MarketTickerObservation, TradeObservation } from '../observation.ts'
import { createChannelWatch } from './channel-watch.ts'

const NOW = 1_800_000_000_000

const trade = (id: string, venueTimeMs: number, receivedMs: number, isSwept = false): TradeObservation => ({
  ...{ kind: 'trade', source: 'predmkt_b', symbol: 'BTC', instrument: 'KX', key: id, id },
  ...{ price: '0.5', size: '1', side: 'buy', venueTimeMs, receivedMs },
  ...(isSwept ? { isSwept } : {}),
})

test('a trade that was refused as overtaken is taken when a sweep brings it; one that was taken is a repeat', () => {
  const watch = createChannelWatch({ silenceOf: () => null, keysRemembered: 100, nowMs: () => NOW })
  watch.add(BTC, () => true)
  const admit = (observation: TradeObservation) => watch.admit('trades:BTC', observation)
  assert.equal(admit(trade('a', NOW, NOW)), 'new')
  assert.equal(admit(trade('b', NOW - 60_000, NOW + 10)), 'implausible')
  assert.equal(admit(trade('b', NOW - 60_000, NOW + 200_000, true)), 'new')
  assert.equal(admit(trade('b', NOW - 60_000, NOW + 300_000, true)), 'repeat')
})

test('an old trade that is sent again, as to a new subscriber, is a repeat and nothing worse', () => {
  const watch = createChannelWatch({ silenceOf: () => null, keysRemembered: 100, nowMs: () => NOW })
  watch.add(BTC, () => true)
  watch.admit('trades:BTC', trade('a', NOW, NOW))
  watch.admit('trades:BTC', trade('b', NOW + 60_000, NOW + 60_000))
  assert.equal(watch.admit('trades:BTC', trade('a', NOW, NOW + 60_010)), 'repeat')
})

test('a funding rate whose next settlement turns out to be another is sent again, and then is a repeat', () => {
  const watch = createChannelWatch({ silenceOf: () => null, keysRemembered: 100, nowMs: () => NOW })
  watch.add({ topic: 'funding', symbol: 'BTC' }, () => true)
  const HOUR = 3_600_000
  const about = { source: 'cexa_futures', symbol: 'BTC', instrument: 'BTCUSDT', receivedMs: NOW } as const
  const poll = (...hours: number[]) => {
    const times = hours.map((hour) => NOW - 24 * HOUR + hour * HOUR)
    const rows = times.map((fundingTime) => ({ symbol: 'BTCUSDT', fundingTime, fundingRate: '0.1' }))
    return mapFundingRows(rows, about).map((each) => watch.admit('funding:BTC', each))
  }
  assert.deepEqual(poll(0, 8), ['new', 'new'])
  assert.deepEqual(poll(0, 8), ['repeat', 'repeat'])
  // From now on the period is four hours.
  assert.deepEqual(poll(8, 12), ['new', 'new'])
  assert.deepEqual([poll(8, 12), poll(0, 8)].flat(), ['repeat', 'repeat', 'repeat', 'repeat'])
})

test('figures from a list do not hide that the stream of figures is silent', () => {
  const watch = createChannelWatch({ silenceOf: () => 120_000, keysRemembered: 100, nowMs: () => NOW })
  const channel = { topic: 'market_ticker', symbol: 'BTC' } as const
  watch.add(channel, () => true)
  const ticker = (receivedMs: number): MarketTickerObservation => ({
    ...{ kind: 'market_ticker', source: 'predmkt_b', symbol: 'BTC', instrument: 'KX', key: null },
    ...{ lastPrice: '0.5', volume: '7', openInterest: '3', venueTimeMs: receivedMs, receivedMs },
  })
  assert.equal(watch.admit('market_ticker:BTC', ticker(NOW)), 'new')
  assert.equal(watch.admit('market_ticker:BTC', { ...ticker(NOW + 110_000), isListed: true }), 'new')
  assert.deepEqual(watch.fallenSilent(NOW + 121_000), [{ channel, lastReceivedMs: NOW }])
})

test('an estimated next settlement that changes and changes back is sent each time', () => {
  const watch = createChannelWatch({ silenceOf: () => null, keysRemembered: 100, nowMs: () => NOW })
  watch.add({ topic: 'funding', symbol: 'BTC' }, () => true)
  const HOUR = 3_600_000
  const settledMs = Date.parse('2026-03-14T08:00Z')
  // The period changes from four hours to eight, which the venue announces, except while a rate seems to be due.
  const poll = (hour: number) => {
    const receivedMs = settledMs + hour * HOUR
    const about = { source: 'cexa_futures', symbol: 'BTC', instrument: 'BTCUSDT', receivedMs } as const
    const rows = [settledMs - 4 * HOUR, settledMs].map((fundingTime) => ({
      ...{ symbol: 'BTCUSDT', fundingTime, fundingRate: '0.1' },
    }))
    const rates = mapFundingRows(rows, about, undefined, settledMs + 8 * HOUR)
    const verdicts = rates.map((each) => watch.admit('funding:BTC', each))
    return [verdicts.at(-1), ((rates.at(-1)?.nextFundingTimeMs ?? 0) - settledMs) / HOUR]
  }
  assert.deepEqual(
    [poll(1), poll(4.1), poll(4.6), poll(5)],
    [
      ['new', 8],
      ['new', 4],
      ['new', 8],
      ['repeat', 8],
    ],
  )
})
