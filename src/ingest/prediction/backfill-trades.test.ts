/** Which gaps are closed by the trades and midpoints that a venue lists. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storesIn } from '../../../test/fakes/stores.ts'
import { pacedClock } from '../../../test/predictions/paced-clock.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import { type CoverageChange, gap, observed } from '../../store/coverage.ts'
import type { DoubtedTime } from '../../venues/doubted-time.ts'
import type { TradeObservation } from '../../venues/observation.ts'
import type { HistoryPage, HistoryRequest } from '../../venues/venue.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { type BackfilledMarket, backfillTrades } from './backfill-trades.ts'
import { DoubtedVolumes } from './doubted-volumes.ts'

const GAP = { from: Date.parse('2026-11-15T10:00:00Z'), to: Date.parse('2026-11-15T10:04:00Z') }
const TRADES = feedOf('trades', 'predmkt_a', 'BTC')
const CANDLES = candleFeed('predmkt_a', 'BTC', '5m')
const WINDOW = { fromMs: GAP.from - 60_000, toMs: GAP.to + 60_000 }

const tradeAt = (timeMs: number): TradeObservation => ({
  ...{ kind: 'trade', source: 'predmkt_a', symbol: 'BTC', instrument: 'up' },
  ...{ venueTimeMs: timeMs, receivedMs: timeMs, key: `t${timeMs}`, id: `t${timeMs}` },
  ...{ price: '0.5', size: '1', side: 'buy' },
})

async function backfilled(
  nowMs: number,
  mids: (request: HistoryRequest) => HistoryPage,
  isListed = true,
  before: readonly CoverageChange[] = [],
  knownToMs = nowMs,
  lacking: { whole: boolean } | undefined = undefined,
  doubts = new DoubtedVolumes(),
  proven: boolean[] | undefined = undefined,
  {
    restored = { fromMs: WINDOW.fromMs, toMs: GAP.to },
    listedLacking = 12.5,
    isSwept = true,
    requests = [] as HistoryRequest[],
    /** Ends of the listed windows of five minutes. */
    windowEnds = [] as number[],
    unlisted = new Map<number, DoubtedTime>(),
    /** More markets that are known. */
    others = [] as Partial<MarketInput>[],
    /** Markets that the venue lists by when they ended. */
    listed = [] as MarketInput[],
    listedApartMs = 0,
    /** The trades that the venue lists, by their listed times. */
    trades = [] as number[],
    received: receivedMs = [] as number[],
  } = {},
): Promise<string[]> {
  const store = await storesIn(':memory:', pacedClock(nowMs)).environment('test')
  for (const feed of [TRADES, CANDLES]) {
    await store.write({ coverage: [observed(feed, GAP.from - 600_000, GAP.from)] })
    await store.write({ coverage: [gap(feed, GAP.from, GAP.to, 'not_observed')] })
    await store.write({ coverage: [observed(feed, GAP.to, nowMs)] })
  }
  await store.write({ coverage: before })
  const closed: string[] = []
  const received: MarketInput[] = []
  let isLacking = lacking !== undefined
  async function* history(request: HistoryRequest): AsyncGenerator<HistoryPage> {
    requests.push(request)
    if (request.topic === 'trades' && request.range.fromMs === WINDOW.fromMs)
      isLacking &&= lacking?.whole !== true
    const endedIn = listed.filter(({ endTime }) => Number(endTime) >= request.range.fromMs)
    if (request.topic === 'mids') yield mids(request)
    else if (request.topic === 'markets' && !isListed) yield { observations: [], covered: null, missing: [] }
    else if (request.topic === 'markets') {
      const about = { source: 'predmkt_a', symbol: 'BTC', instrument: 'BTC', venueTimeMs: nowMs } as const
      const rows = endedIn.map((row) => ({ kind: 'market' as const, key: row.marketId, market: row }))
      const observations = rows.map((row) => ({ ...about, ...row, receivedMs: nowMs }))
      yield { observations, covered: request.range, missing: [] }
    } else {
      const { fromMs, toMs } = request.range
      const rows = trades.filter((timeMs) => timeMs >= fromMs && timeMs < toMs).map(tradeAt)
      // The venue does not answer for the time after the gap yet.
      yield { observations: rows, covered: { fromMs, toMs: toMs - listedApartMs }, missing: [] }
    }
  }
  const market: BackfilledMarket = {
    market: { marketId: '0xaa', source: 'predmkt_a', symbol: 'BTC', active: true, status: 'open' },
    traded: WINDOW,
    priced: WINDOW,
    firstMs: WINDOW.fromMs,
    needsOwnSweep: false,
    isUntraded: () => false,
    isSwept,
    unproven: proven === undefined ? undefined : restored,
    proven: (isComplete) => void proven?.push(isComplete),
    lacking: () => (isLacking ? 12.5 : 0),
    lackingListed: () => (isLacking ? listedLacking : 0),
    swept() {},
    trade: ({ venueTimeMs }) => void receivedMs.push(venueTimeMs),
    mid() {},
    show() {},
    ready: () => Promise.resolve(),
  }
  try {
    await backfillTrades({
      feed: TRADES,
      candleFeeds: [CANDLES],
      hasMids: true,
      listedApartMs,
      endless: ['5m'],
      symbol: 'BTC',
      venue: { history },
      coverage: store.coverage,
      tracker: { confirm: (feed) => void closed.push(feed.dataset), received() {} },
      listedMs: nowMs,
      isKnownTo: (toMs) => toMs <= knownToMs,
      doubts,
      unlisted,
      turn: 0,
      nowMs,
      signal: new AbortController().signal,
      onMarket: (row) => void received.push(row),
      markets: () => [
        market,
        ...[...others, ...received].map((more) => ({ ...market, market: { ...market.market, ...more } })),
        ...windowEnds.map((endTime) => {
          const { market: about, ...other } = market
          return {
            ...other,
            market: { ...about, marketId: `${endTime}`, marketType: '5m' as const, endTime },
          }
        }),
      ],
    })
  } finally {
    await store.close()
  }
  return closed
}

const SOON_MS = GAP.to + 120_000

test('gaps of candles are closed with the trades where the midpoints were sent, else only the trades', async () => {
  const closed = await backfilled(SOON_MS, ({ range }) => ({ observations: [], covered: range, missing: [] }))
  assert.deepEqual(closed, ['trades', 'candles'])
  const coarse = await backfilled(SOON_MS, () => ({ observations: [], covered: null, missing: [] }))
  assert.deepEqual(coarse, ['trades'])
})

test('a gap is closed with the trades that are listed with the time of their block, just outside of it', async () => {
  const mids = ({ range }: HistoryRequest) => ({ observations: [], covered: range, missing: [] })
  const trades = [GAP.from - 11_000, GAP.from - 900, GAP.to + 9_000, GAP.to + 11_000]
  const received: number[] = []
  const more = { trades, received, listedApartMs: 10_000 }
  const closed = await backfilled(SOON_MS, mids, true, [], SOON_MS, undefined, undefined, undefined, more)
  assert.deepEqual(
    [closed, received],
    [
      ['trades', 'candles'],
      [GAP.from - 900, GAP.to + 9_000],
    ],
  )
})

test('trades wait for midpoints that cannot be requested for an hour, not for ever', async () => {
  const fail = () => {
    throw new Error('no answer')
  }
  await assert.rejects(backfilled(SOON_MS, fail), /no answer/)
  assert.deepEqual(await backfilled(GAP.to + 3_700_000, fail), ['trades'])
})

test('a gap stays where the list of markets has one that cannot be read: it may have been traded', async () => {
  const mids = ({ range }: HistoryRequest) => ({ observations: [], covered: range, missing: [] })
  assert.deepEqual(await backfilled(SOON_MS, mids, false), [])
})

test('a gap stays while the windows of its time are not listed: one of them may have been traded', async () => {
  const mids = ({ range }: HistoryRequest) => ({ observations: [], covered: range, missing: [] })
  assert.deepEqual(await backfilled(SOON_MS, mids, true, [], GAP.to - 1), [])
  assert.deepEqual(await backfilled(SOON_MS, mids, true, [], GAP.to), ['trades', 'candles'])
})

test('a gap waits for an hour of lists without a window that must have run in it, however old the gap is', async () => {
  const mids = ({ range }: HistoryRequest) => ({ observations: [], covered: range, missing: [] })
  const unlisted = new Map<number, DoubtedTime>()
  const given = (nowMs: number, windowEnds: number[]) => {
    const more = { windowEnds, unlisted }
    return backfilled(nowMs, mids, true, [], nowMs, undefined, new DoubtedVolumes(), undefined, more)
  }
  const endMs = GAP.from + 300_000
  assert.deepEqual(await given(SOON_MS, [endMs + 2_000, endMs + 3_000_000]), ['trades', 'candles'])
  const lateMs = GAP.to + 3_700_000
  for (let minute = 0; minute < 60; minute += 2)
    assert.deepEqual(await given(lateMs + minute * 60_000, [endMs + 3_000_000]), [])
  assert.deepEqual(await given(lateMs + 3_600_000, [endMs + 3_000_000]), ['trades', 'candles'])
})

test('a gap waits for an hour of lists without the contract whose successor began in it: the list of its series may be empty', async () => {
  const mids = ({ range }: HistoryRequest) => ({ observations: [], covered: range, missing: [] })
  const hour = (ticker: string, startTime: number): Partial<MarketInput> => ({
    ...{ marketId: ticker, ticker, marketType: '1h', startTime, endTime: startTime + 3_600_000 },
  })
  const beginsMs = GAP.from + 60_000
  const successor = hour('KXBTCD-26NOV1511-T1', beginsMs)
  const given = (
    nowMs: number,
    others: Partial<MarketInput>[],
    unlisted = new Map<number, DoubtedTime>(),
  ) => {
    const more = { others, unlisted }
    return backfilled(nowMs, mids, true, [], nowMs, undefined, new DoubtedVolumes(), undefined, more)
  }
  const closed = ['trades', 'candles']
  const ended = hour('KXBTCD-26NOV1510-T1', beginsMs - 3_600_000)
  assert.deepEqual(await given(SOON_MS, [successor, ended]), closed)
  const early = { ...ended, endTime: beginsMs - 1_500_000 }
  assert.deepEqual(await given(SOON_MS, [successor, early]), closed, 'it closed early')
  assert.deepEqual(
    await given(SOON_MS, [hour('KXBTCD-26NOV1510-T1', GAP.from - 900_000)]),
    closed,
    'ran before',
  )
  assert.deepEqual(await given(SOON_MS, [hour('KXBTCD-26NOV1513-T1', GAP.from + 7_200_000)]), closed, 'later')
  const ofOther = hour('KXBTC-26NOV1510-B1', beginsMs - 3_600_000)
  const unlisted = new Map<number, DoubtedTime>()
  for (let minute = 0; minute < 60; minute += 2)
    assert.deepEqual(await given(SOON_MS + minute * 60_000, [successor, ofOther], unlisted), [])
  assert.deepEqual(await given(SOON_MS + 3_600_000, [successor, ofOther], unlisted), closed)
})

test('the contract that ended early, before a gap that its successor began in, is listed from its start', async () => {
  const mids = ({ range }: HistoryRequest) => ({ observations: [], covered: range, missing: [] })
  const beginsMs = GAP.from + 60_000
  const successor = {
    ...{ marketId: 'KXBTCD-26NOV1511-T1', ticker: 'KXBTCD-26NOV1511-T1', marketType: '1h' as const },
    ...{ startTime: beginsMs, endTime: beginsMs + 3_600_000 },
  }
  const early: MarketInput = {
    ...{ source: 'predmkt_a', symbol: 'BTC', active: false, status: 'resolved', marketType: '1h' },
    ...{ marketId: 'KXBTCD-26NOV1510-T1', ticker: 'KXBTCD-26NOV1510-T1' },
    ...{ startTime: beginsMs - 3_600_000, endTime: GAP.from - 600_000 },
  }
  const given = (listed: MarketInput[], requests: HistoryRequest[]) => {
    const more = { others: [successor], listed, requests }
    return backfilled(SOON_MS, mids, true, [], SOON_MS, undefined, new DoubtedVolumes(), undefined, more)
  }
  const requests: HistoryRequest[] = []
  assert.deepEqual(await given([early], requests), ['trades', 'candles'])
  const lists = requests.filter(({ topic }) => topic === 'markets').map(({ range }) => range.fromMs)
  assert.deepEqual(lists, [GAP.from - 300_000, beginsMs - 3_600_000])
  assert.deepEqual(await given([], []), [])
})

test('a gap from before the first observation, of a refused trade, is not closed', async () => {
  const mids = () => ({ observations: [], covered: null, missing: [] })
  const refusedMs = GAP.from - 1_200_000
  const before = [gap(TRADES, refusedMs, refusedMs + 1, 'not_observed')]
  assert.deepEqual(await backfilled(SOON_MS, mids, true, before), ['trades'])
})

test('an answer that lacks trades which the venue counts closes nothing; its whole list does, or half an hour of doubt', async () => {
  const mids = () => ({ observations: [], covered: null, missing: [] })
  const doubts = new DoubtedVolumes()
  const given = (nowMs: number, whole: boolean) => backfilled(nowMs, mids, true, [], nowMs, { whole }, doubts)
  assert.deepEqual(await given(SOON_MS, false), [])
  assert.deepEqual(await given(SOON_MS, true), ['trades'])
  // For a gap of two hours ago, the doubt begins only now.
  const lateMs = GAP.to + 2 * 3_600_000
  for (let minute = 0; minute < 30; minute += 2)
    assert.deepEqual(await given(lateMs + minute * 60_000, false), [])
  assert.deepEqual(await given(lateMs + 30 * 60_000, false), ['trades'])
})

test('a running market that was restored with too few trades is proven by its whole list', async () => {
  const mids = () => ({ observations: [], covered: null, missing: [] })
  const proven: boolean[] = []
  for (const whole of [false, true])
    await backfilled(SOON_MS, mids, true, [], SOON_MS, { whole }, new DoubtedVolumes(), proven)
  assert.deepEqual(proven, [false, true])
})

test('a running market is judged once its trades of the time before the restart are listed, by the volume of that time', async () => {
  const mids = () => ({ observations: [], covered: null, missing: [] })
  const proven: boolean[] = []
  const given = (restored: typeof WINDOW, listedLacking: number, requests: HistoryRequest[] = []) => {
    const lacking = { whole: false }
    const more = { restored, listedLacking, requests }
    return backfilled(SOON_MS, mids, true, [], SOON_MS, lacking, new DoubtedVolumes(), proven, more)
  }
  await given({ fromMs: GAP.from, toMs: SOON_MS - 60_000 }, 12.5)
  await given({ fromMs: GAP.from, toMs: GAP.to }, 0)
  assert.deepEqual(proven, [])
  const requests: HistoryRequest[] = []
  await given({ fromMs: GAP.from + 1_000, toMs: GAP.to }, 12.5, requests)
  assert.deepEqual(proven, [false])
  const asked = requests.filter(({ topic }) => topic === 'trades').map(({ range }) => range.fromMs)
  assert.ok(asked.includes(GAP.from + 1_000))
})

test('the whole list of a market that has ended is requested once at a time', async () => {
  const mids = () => ({ observations: [], covered: null, missing: [] })
  const requests: HistoryRequest[] = []
  const nowMs = GAP.to + 600_000
  const more = { isSwept: false, requests }
  const lacking = { whole: false }
  await backfilled(nowMs, mids, true, [], nowMs, lacking, new DoubtedVolumes(), undefined, more)
  assert.equal(requests.filter(({ topic }) => topic === 'trades').length, 1)
})

test('a market that cannot be requested keeps neither other markets nor other gaps from their turn', async () => {
  const nowMs = GAP.to + 3 * 3_600_000
  const store = await storesIn(':memory:', pacedClock(nowMs)).environment('test')
  const old = { from: GAP.from - 3_600_000, to: GAP.from - 3_500_000 }
  let fromMs = old.from - 600_000
  for (const { from, to } of [old, GAP]) {
    await store.write({ coverage: [observed(TRADES, fromMs, from)] })
    await store.write({ coverage: [gap(TRADES, from, to, 'not_observed')] })
    fromMs = to
  }
  await store.write({ coverage: [observed(TRADES, fromMs, nowMs)] })
  const [closed, swept] = [[] as number[], [] as string[]]
  async function* history({ topic, market, range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    if (topic === 'trades' && market === 'broken') throw new Error('a trade without a side')
    yield { observations: [], covered: range, missing: [] }
  }
  const ended = (marketId: string): BackfilledMarket => ({
    market: { marketId, source: 'predmkt_a', symbol: 'BTC', active: true, status: 'closed' },
    ...{ traded: { fromMs: old.from, toMs: old.to }, priced: { fromMs: old.from, toMs: old.to } },
    ...{
      firstMs: old.from,
      needsOwnSweep: true,
      isUntraded: () => false,
      isSwept: false,
      unproven: undefined,
    },
    ...{
      lacking: () => 0,
      lackingListed: () => 0,
      proven() {},
      swept: () => void swept.push(marketId),
      trade() {},
      mid() {},
      show() {},
    },
    ready: () => Promise.resolve(),
  })
  const backfill = backfillTrades({
    ...{
      feed: TRADES,
      candleFeeds: [],
      hasMids: false,
      listedApartMs: 0,
      endless: [],
      symbol: 'BTC',
      venue: { history },
      coverage: store.coverage,
      turn: 0,
    },
    ...{ listedMs: nowMs, isKnownTo: () => true, doubts: new DoubtedVolumes(), nowMs, onMarket() {} },
    unlisted: new Map(),
    tracker: { confirm: (_feed, fromMs) => void closed.push(fromMs), received() {} },
    signal: new AbortController().signal,
    markets: () => [ended('broken'), ended('whole')],
  })
  await assert.rejects(backfill, /without a side/)
  await store.close()
  assert.deepEqual([closed, swept], [[GAP.from], ['whole']])
})
