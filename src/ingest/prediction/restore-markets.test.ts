import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import { createLogger } from '../../kit/log.ts'
import { observed } from '../../store/coverage.ts'
import { kalshiPlan } from '../../venues/kalshi/plan.ts'
import type { HistoryPage, HistoryRequest, Venue } from '../../venues/venue.ts'
import { candleFeed } from '../shared/feeds.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import { type FollowedMarket, lackingOf } from './followed-market.ts'
import { MarketRecorder } from './record-market.ts'
import { createMarketRestorer } from './restore-markets.ts'
import { createMarketWriter } from './write-markets.ts'

const START_MS = Date.parse('2026-11-15T12:00:00Z')
const NOW_MS = START_MS + 600_000
const log = createLogger({ level: 'silent' })
const MARKET: MarketInput = {
  ...{ marketId: 'KXBTC15M-X', source: 'predmkt_b', symbol: 'BTC', marketType: '15m', tokens: [] },
  ...{ startTime: START_MS, endTime: START_MS + 900_000, active: true, status: 'open', volume: '10.00' },
}

test('a contract that is restored with fewer trades than the venue counts is unproven since what was final', async (t) => {
  for (const sizes of [['4.00', '6.00'], ['4.00'], []]) {
    const clock = manualClock(NOW_MS)
    const store = await storesIn(':memory:', clock).environment('test')
    t.after(() => store.close())
    const base = candleFeed('predmkt_b', 'BTC', '5m')
    await store.write({ coverage: [observed(base, START_MS - 600_000, NOW_MS - 60_000)] })
    async function* history({ topic, range }: HistoryRequest): AsyncGenerator<HistoryPage> {
      const about = { source: 'predmkt_b', symbol: 'BTC', instrument: MARKET.marketId } as const
      const times = { venueTimeMs: START_MS + 60_000, receivedMs: NOW_MS }
      const trades = sizes.map((size) => ({
        ...({ kind: 'trade', ...about, ...times, id: size, key: size } as const),
        ...({ size, price: '0.5', side: 'buy' } as const),
      }))
      yield { observations: topic === 'trades' ? trades : [], covered: range, missing: [] }
    }
    const writer = createRowWriter({ store, random: Math.random, clock, log })
    const recorder = new MarketRecorder({
      ...{ plan: kalshiPlan, market: MARKET, writer },
      ...{ referencePrice: () => null, booksReceivedToMs: () => NOW_MS },
    })
    const followed: FollowedMarket = {
      ...{ recorder, window: recorder, followedMs: NOW_MS, firstEndMs: recorder.endMs, figuresMs: 0 },
      ...{ isListedLate: false, isReady: false, isRestored: false, isSwept: false, hasVolume: true },
      ready: Promise.resolve(),
    }
    const restorer = createMarketRestorer({
      ...{ plan: kalshiPlan, symbol: 'BTC', venue: { history } as unknown as Venue, store, clock, log },
      ...{ catalogue: createMarketWriter({ store, log }), signal: new AbortController().signal },
    })
    await restorer.restore(followed)
    assert.equal(followed.isRestored, true)
    const unproven = { fromMs: START_MS, toMs: NOW_MS, isGap: false }
    assert.deepEqual(followed.unproven, sizes.length === 2 ? undefined : unproven)
    const later = { venueTimeMs: NOW_MS + 1_000, receivedMs: NOW_MS + 1_000, id: 'later', key: 'later' }
    recorder.trade({
      ...({ kind: 'trade', source: 'predmkt_b', symbol: 'BTC', instrument: MARKET.marketId } as const),
      ...({ ...later, size: '6.00', price: '0.5', side: 'buy' } as const),
    })
    recorder.market = { ...recorder.market, volume: '30.00' }
    const known = sizes.reduce((sum, size) => sum + Number(size), 0)
    assert.equal(recorder.lackingListed, 10 - known, 'neither trades nor volumes after the list count')
    assert.equal(lackingOf(kalshiPlan, followed, START_MS), 30 - known - 6)
  }
})

test('trades that were received after the volume was listed do not hide that earlier ones are missing', async (t) => {
  const clock = manualClock(NOW_MS)
  const store = await storesIn(':memory:', clock).environment('test')
  t.after(() => store.close())
  const recorder = new MarketRecorder({
    ...{
      plan: kalshiPlan,
      market: MARKET,
      writer: createRowWriter({ store, random: Math.random, clock, log }),
    },
    ...{ referencePrice: () => null, booksReceivedToMs: () => NOW_MS },
  })
  const received = (id: string, venueTimeMs: number, size: string) =>
    recorder.trade({
      ...({ kind: 'trade', source: 'predmkt_b', symbol: 'BTC', instrument: MARKET.marketId } as const),
      ...({ venueTimeMs, receivedMs: venueTimeMs, id, key: id, size, price: '0.5', side: 'buy' } as const),
    })
  received('before', NOW_MS - 60_000, '4.00')
  received('after', NOW_MS + 20_000, '6.00')
  const lacking = (figuresMs: number) => lackingOf(kalshiPlan, { recorder, figuresMs }, START_MS)
  assert.deepEqual([lacking(NOW_MS), lacking(NOW_MS + 30_000), lacking(0)], [6, 0, 0])
})

test('a volume of 0 that an earlier run stored proves nothing where the list of this run leaves it out', async (t) => {
  for (const hasVolume of [true, false]) {
    const clock = manualClock(NOW_MS)
    const store = await storesIn(':memory:', clock).environment('test')
    t.after(() => store.close())
    const base = candleFeed('predmkt_b', 'BTC', '5m')
    await store.write({
      markets: [{ ...MARKET, volume: '0.00' }],
      coverage: [observed(base, START_MS - 600_000, NOW_MS - 60_000)],
    })
    const requested = new Set<string>()
    async function* history({ topic, range }: HistoryRequest): AsyncGenerator<HistoryPage> {
      requested.add(topic)
      yield { observations: [], covered: range, missing: [] }
    }
    const recorder = new MarketRecorder({
      plan: kalshiPlan,
      market: { ...MARKET, volume: hasVolume ? '0.00' : null },
      writer: createRowWriter({ store, random: Math.random, clock, log }),
      ...{ referencePrice: () => null, booksReceivedToMs: () => NOW_MS },
    })
    const followed: FollowedMarket = {
      ...{ recorder, window: recorder, followedMs: NOW_MS, firstEndMs: recorder.endMs, figuresMs: NOW_MS },
      ...{ isListedLate: false, isReady: false, isRestored: false, isSwept: false, hasVolume },
      ready: Promise.resolve(),
    }
    const restorer = createMarketRestorer({
      ...{ plan: kalshiPlan, symbol: 'BTC', venue: { history } as unknown as Venue, store, clock, log },
      ...{ catalogue: createMarketWriter({ store, log }), signal: new AbortController().signal },
    })
    await restorer.restore(followed)
    assert.equal(requested.has('trades'), !hasVolume)
  }
})
