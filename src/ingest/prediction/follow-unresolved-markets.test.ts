/** Which markets of an earlier run are requested again, and until when. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storesIn } from '../../../test/fakes/stores.ts'
import { pacedClock } from '../../../test/predictions/paced-clock.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import { observed } from '../../store/coverage.ts'
import { VENUES } from '../../venues/list.ts'
import type { HistoryPage, HistoryRequest } from '../../venues/venue.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { followUnresolvedMarkets } from './follow-unresolved-markets.ts'

const START_MS = Date.parse('2026-11-15T10:06:00Z')
const END_MS = Date.parse('2026-11-15T10:05:00Z')

const market = (marketId: string, endTime: number, winner?: string): MarketInput => ({
  ...{ marketId, source: 'predmkt_a', symbol: 'BTC', marketType: '5m', active: winner === undefined },
  ...{ slug: marketId, question: 'Up or down?', startTime: endTime - 300_000, endTime },
  ...(winner === undefined ? { status: 'closed' } : { status: 'resolved', winner }),
})

const observationOf = (each: MarketInput) => ({
  ...{ kind: 'market' as const, source: 'predmkt_a' as const, symbol: 'BTC' as const, market: each },
  ...{ instrument: each.marketId, venueTimeMs: START_MS, receivedMs: START_MS, key: null },
})

test('a market that an answer leaves out is requested until it has a winner', async () => {
  const clock = pacedClock(START_MS, 10_000)
  const store = await storesIn(':memory:', clock).environment('test')
  const [older, newer] = [market('0xaa', END_MS - 300_000), market('0xbb', END_MS)]
  const opened = (marketId: string, startTime: number) =>
    ({ ...market(marketId, START_MS + 600_000), startTime, status: 'open' }) as const
  const current = [opened('0xcc', START_MS - 60_000), opened('0xdd', START_MS + 60_000)]
  await store.write({ markets: [older, newer, ...current] })
  const running: string[] = []
  const answers = [
    [market('0xaa', END_MS - 300_000, 'Up')],
    [],
    [newer],
    [],
    [market('0xbb', END_MS, 'Down')],
  ]
  const asked: number[] = []
  const found: string[] = []
  async function* history({ range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    asked.push(range.fromMs)
    const observations = (answers.shift() ?? []).map(observationOf)
    yield { observations, covered: range, missing: [] }
  }
  const following = followUnresolvedMarkets({
    ...{
      plan: VENUES.polymarket.plan,
      symbol: 'BTC',
      venue: { history },
      markets: store.markets,
      series: store.series,
      coverage: store.coverage,
      clock,
    },
    signal: new AbortController().signal,
    onMarket: ({ marketId, status }) => void found.push(`${marketId} ${status}`),
    isFollowed: () => true,
    onRunning: (markets) => void running.push(...markets.map(({ marketId }) => marketId)),
    onListed() {},
    onError: (error) => assert.fail(String(error)),
  })
  await clock.during(following)
  await store.close()
  assert.deepEqual(asked.slice(1), [END_MS, END_MS, END_MS, END_MS], 'not for what has a winner')
  assert.equal(asked[0], END_MS - 300_000 - 16 * 60_000, 'sweeps may have waited')
  assert.deepEqual(found, ['0xaa resolved', '0xbb closed', '0xbb resolved'])
  assert.deepEqual(running, ['0xcc'])
})

test('markets with a winner are listed again where their trades were not final; given up after a day of failures', async () => {
  const clock = pacedClock(START_MS, 60_000)
  const store = await storesIn(':memory:', clock).environment('test')
  const feed = feedOf('trades', 'predmkt_a', 'BTC')
  const finalMs = END_MS - 3_600_000
  await store.write({ markets: [market('0xaa', END_MS, 'Up')], finalize: [{ feed, before: finalMs }] })
  const asked: number[] = []
  let listed = 0
  // biome-ignore lint/correctness/useYield: it never answers.
  async function* history({ range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    asked.push(range.fromMs)
    throw new Error('no answer')
  }
  const following = followUnresolvedMarkets({
    ...{ plan: VENUES.polymarket.plan, symbol: 'BTC', venue: { history }, markets: store.markets, clock },
    ...{ series: store.series, coverage: store.coverage, signal: new AbortController().signal },
    onMarket() {},
    isFollowed: () => true,
    onRunning() {},
    onListed() {
      listed += 1
    },
    onError() {},
  })
  await clock.during(following)
  await store.close()
  assert.equal(asked[0], finalMs - VENUES.polymarket.plan.followed.afterMs)
  assert.ok(asked.length > 100)
  assert.equal(listed, 1)
})

test('if nothing was ever final, markets with a winner are listed since the first start, until an answer has any', async () => {
  const clock = pacedClock(START_MS, 60_000)
  const store = await storesIn(':memory:', clock).environment('test')
  const firstMs = END_MS - 5 * 3_600_000
  const coverage = [observed(candleFeed('predmkt_a', 'BTC', '5m'), firstMs, END_MS)]
  await store.write({ markets: [market('0xaa', END_MS, 'Up')], coverage })
  const asked: number[] = []
  async function* history({ range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    listed.push(found.length)
    asked.push(range.fromMs)
    // Empty answers at first do not mean that there is none.
    const sent = asked.length < 3 ? [] : [observationOf(market('0xaa', END_MS, 'Up'))]
    yield { observations: sent, covered: range, missing: [] }
  }
  const found: string[] = []
  const listed: number[] = []
  const following = followUnresolvedMarkets({
    ...{ plan: VENUES.polymarket.plan, symbol: 'BTC', venue: { history }, markets: store.markets, clock },
    ...{ series: store.series, coverage: store.coverage, signal: new AbortController().signal },
    onMarket: ({ marketId }) => void found.push(marketId),
    isFollowed: () => true,
    onRunning() {},
    onListed: () => void found.push('listed'),
    onError: (error) => assert.fail(String(error)),
  })
  await clock.during(following)
  await store.close()
  const fromMs = firstMs - VENUES.polymarket.plan.followed.afterMs
  assert.deepEqual(asked, [fromMs, fromMs, fromMs])
  assert.deepEqual(
    [found.slice(0, 2), listed],
    [
      ['0xaa', 'listed'],
      [0, 0, 0],
    ],
  )
})

test('a market that ends after the start without ever being listed is requested from its end on', async () => {
  const clock = pacedClock(START_MS, 10_000)
  const store = await storesIn(':memory:', clock).environment('test')
  const opened = (marketId: string, endMs: number) =>
    ({ ...market(marketId, endMs), status: 'open' }) as const
  const endMs = START_MS + 40_000
  await store.write({ markets: [opened('0xaa', endMs), opened('0xbb', endMs), opened('0xcc', endMs)] })
  const winners: Record<string, string> = {}
  const asked: number[] = []
  const found: string[] = []
  async function* history({ range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    asked.push(clock.now() - endMs)
    if (asked.length > 1) Object.assign(winners, { '0xaa': 'Up', '0xbb': 'Down' })
    const listed = ['0xaa', '0xbb', '0xdd'].map((id) =>
      market(id, endMs + (id === '0xdd' ? 3_600_000 : 0), winners[id]),
    )
    const observations = listed
      .filter(({ endTime }) => (endTime ?? 0) >= range.fromMs && (endTime ?? 0) < range.toMs)
      .map(observationOf)
    yield { observations, covered: range, missing: [] }
  }
  let listed = 0
  const following = followUnresolvedMarkets({
    ...{ plan: VENUES.polymarket.plan, symbol: 'BTC', venue: { history }, markets: store.markets, clock },
    ...{ series: store.series, coverage: store.coverage, signal: new AbortController().signal },
    onMarket: ({ marketId, status }) => void found.push(`${marketId} ${status}`),
    isFollowed: (marketId) => marketId === '0xcc',
    onRunning() {},
    onListed: () => void listed++,
    onError: (error) => assert.fail(String(error)),
  })
  await clock.during(following)
  await store.close()
  assert.ok(asked[0] !== undefined && asked[0] >= 60_000, 'not before lists had time to show it')
  assert.equal(asked.length, 2)
  assert.deepEqual(found, ['0xaa closed', '0xbb closed', '0xaa resolved', '0xbb resolved'])
})
