/** A second built from trades is closed soon, but never before it is certainly over. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { readRows } from '../../../test/ingest/compare.ts'
import { createLogger } from '../../kit/log.ts'
import { VENUES } from '../../venues/list.ts'
import type { Venue } from '../../venues/venue.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import { closeCountedSeconds, judgeCount } from './close-counted-seconds.ts'
import { closeNumberedSeconds } from './close-numbered-seconds.ts'
import type { MinuteProver } from './prove-minutes.ts'
import type { UnclosedTrades } from './resume.ts'
import { noCounts, type SymbolParts } from './symbol-parts.ts'

const START_MS = Date.parse('2026-11-10T10:00:00Z')
const RANGE = { fromMs: START_MS - 3_600_000, toMs: START_MS + 3_600_000 }

async function start(
  name: 'binance-futures' | 'hyperliquid',
  isJoined: (closeMs: number) => boolean,
  options: {
    beginsMs?: number | undefined
    judge?: MinuteProver['judge']
    left?: UnclosedTrades
    unknownFromMs?: () => number
  } = { beginsMs: START_MS },
) {
  const { plan } = VENUES[name]
  const clock = manualClock(options.left === undefined ? START_MS : START_MS + 30_000)
  const store = await storesIn(':memory:', clock).environment('test')
  const { series, coverage, close } = store
  const writer = createRowWriter({
    store,
    random: Math.random,
    clock,
    log: createLogger({ level: 'silent' }),
  })
  const tracker = createCoverageTracker({ feeds: [], coverage, writer })
  const counts = noCounts()
  const signal = new AbortController().signal
  const feed = candleFeed(plan.source, 'BTC', '1s')
  const feeds = plan.hasTrades ? [feed, feedOf('trades', plan.source, 'BTC')] : [feed]
  const parts: SymbolParts = {
    // No test here sends a request to a venue.
    ...{ plan, venue: {} as Venue, symbol: 'BTC', series, writer, tracker, derivatives: undefined },
    ...{ counts, random: Math.random, clock, signal },
  }
  const { judge = () => ({ kind: 'wait' }) as const, unknownFromMs = () => Number.POSITIVE_INFINITY } =
    options
  const joined = { isKnown: isJoined, unknownFrom: unknownFromMs }
  const prover: MinuteProver = { trade() {}, judge, forget() {} }
  const seconds =
    plan.secondsFrom === 'trades'
      ? closeCountedSeconds(parts, joined, options.left)
      : closeNumberedSeconds(parts, joined, prover)
  if (options.beginsMs !== undefined) seconds.begin(options.beginsMs)
  return {
    seconds,
    counts,
    trade: (ms: number) =>
      seconds.trade({ timeMs: START_MS + ms, price: '100', size: '1', side: 'buy', fills: 1 }),
    /** The stored closed seconds, counted from the start. */
    async closed() {
      seconds.show()
      await writer.flush()
      const rows = await readRows({ series, coverage } as never, feed, RANGE)
      return rows.filter((row) => row.closed).map((row) => (Date.parse(row.timestamp) - START_MS) / 1_000)
    },
    /** Records thirteen hours as observed. */
    cover() {
      for (const each of feeds) tracker.confirm(each, START_MS, START_MS + 13 * 3_600_000)
    },
    /** The gaps in these thirteen hours, in hours after the start. */
    async lost() {
      await writer.flush()
      const read = feeds.map((each) => coverage.read([each], START_MS, START_MS + 13 * 3_600_000))
      const hours = (timeMs: number) => (timeMs - START_MS) / 3_600_000
      return (await Promise.all(read)).map(({ gaps }) => gaps.map(({ from, to }) => [hours(from), hours(to)]))
    },
    /** The gaps of the seconds, in seconds after the start. */
    async gaps(lengthMs: number) {
      await writer.flush()
      const known = (await coverage.read([feed], START_MS, START_MS + lengthMs)).gaps
      return known.map(({ from, to, reason }) => [(from - START_MS) / 1_000, (to - START_MS) / 1_000, reason])
    },
    async end() {
      await writer.close()
      await close()
    },
  }
}

const MINUTE = { fromMs: START_MS, toMs: START_MS + 60_000 }

test('numbered trades close a second as soon as one is surely later, however long the pause was', async () => {
  const { trade, closed, end } = await start('binance-futures', () => true)
  for (const ms of [100, 900, 1_100, 2_200]) trade(ms)
  assert.deepEqual(await closed(), [], 'the next trades may still arrive before earlier ones')
  trade(2_500)
  assert.deepEqual(await closed(), [0])
  trade(40_000)
  assert.deepEqual(await closed(), [0, 1, 2])
  await end()
})

test('a minute whose candle comes before its first trade is known to be the first is closed, too', async () => {
  const { trade, closed, seconds, end } = await start('binance-futures', () => false, {
    beginsMs: undefined,
    judge: (_minute, own) => ({ kind: 'whole', candles: own }),
  })
  seconds.minutes([minuteCandle(2)], [], MINUTE)
  await seconds.close(START_MS + 64_000)
  assert.equal(seconds.closedToMs, undefined)
  for (const ms of [100, 9_000, 61_000]) trade(ms)
  seconds.begin(START_MS)
  await seconds.close(START_MS + 90_000)
  assert.deepEqual([await closed(), seconds.closedToMs], [[0, 9], MINUTE.toMs])
  await end()
})

test('seconds whose rate is not known are a gap', async () => {
  const { trade, seconds, gaps, end } = await start('binance-futures', () => false, {
    beginsMs: START_MS,
    judge: (_minute, own) => ({ kind: 'whole', candles: own }),
    unknownFromMs: () => START_MS + 20_000,
  })
  for (const ms of [100, 9_000, 30_000, 61_000]) trade(ms)
  seconds.minutes([minuteCandle(3)], [], MINUTE)
  await seconds.close(START_MS + 64_000)
  assert.deepEqual(await gaps(60_000), [[20, 60, 'venue_down']])
  await end()
})

test('seconds of trades that cannot be requested again wait for their rate', async () => {
  let unknownFromMs = START_MS + 20_000
  const { trade, closed, seconds, end } = await start('hyperliquid', () => true, {
    beginsMs: START_MS,
    unknownFromMs: () => unknownFromMs,
  })
  for (const ms of [100, 9_000, 30_000]) trade(ms)
  seconds.minutes([minuteCandle(3)], [], MINUTE)
  await seconds.close(START_MS + 3_600_000)
  assert.deepEqual(await closed(), [])
  unknownFromMs = MINUTE.toMs
  await seconds.close(START_MS + 3_601_000)
  assert.deepEqual(await closed(), [0, 9, 30])
  await end()
})

test('a second that only our own trades had is a gap, if the trades of the venue took their place', async () => {
  const { trade, closed, seconds, gaps, end } = await start('binance-futures', () => true, {
    beginsMs: START_MS,
    judge: (_minute, own) => ({ kind: 'whole', candles: own.filter(({ openMs }) => openMs === START_MS) }),
  })
  // The time of the second trade is wrong.
  for (const ms of [100, 9_000, 61_000]) trade(ms)
  assert.deepEqual(await closed(), [0, 9])
  seconds.minutes([minuteCandle(2)], [], MINUTE)
  await seconds.close(START_MS + 64_000)
  assert.deepEqual(await gaps(60_000), [[9, 10, 'not_provided']])
  await end()
})

for (const [name, feeds] of [
  ['binance-futures', 1],
  ['hyperliquid', 2],
] as const)
  test(`${name}: of more than twelve hours without an answer the oldest is a gap, and minutes go on after it`, async () => {
    const { trade, seconds, cover, lost, end } = await start(name, () => false, {
      beginsMs: START_MS,
      judge: (_minute, own) => ({ kind: 'whole', candles: own }),
    })
    cover()
    for (let second = 0; second <= 12 * 3_600; second++) trade(second * 1_000)
    seconds.show()
    assert.deepEqual(await lost(), Array(feeds).fill([[0, 1]]))
    const hourMs = START_MS + 3_600_000
    seconds.minutes([{ ...minuteCandle(60), openMs: hourMs }], [], {
      fromMs: START_MS,
      toMs: hourMs + 60_000,
    })
    await seconds.close(hourMs + 100_000)
    if (feeds === 1) assert.equal(seconds.closedToMs, hourMs + 60_000)
    assert.deepEqual(await lost(), Array(feeds).fill([[0, 1]]))
    await end()
  })

test('after an outage twenty minutes are closed in one go', async () => {
  const { trade, seconds, end } = await start('binance-futures', () => false, {
    beginsMs: START_MS,
    judge: (_minute, own) => ({ kind: 'whole', candles: own }),
  })
  for (let minute = 0; minute < 30; minute++) trade(minute * 60_000)
  seconds.minutes([], [], { fromMs: START_MS, toMs: START_MS + 30 * 60_000 })
  for (const minutes of [20, 30]) {
    await seconds.close(START_MS + 31 * 60_000)
    assert.equal(seconds.closedToMs, START_MS + minutes * 60_000)
  }
  await end()
})

const minuteCandle = (count: number, volume = count) => {
  const units = (value: bigint) => ({ units: value, scale: 0 })
  return {
    ...{ openMs: START_MS, open: '100', high: '100', low: '100', close: '100', buys: null, sells: null },
    ...{ count, volume: units(BigInt(volume)), quote: null, buyVolume: null, buyQuote: null },
  }
}

test('trades without numbers: nothing but the count of the minute closes their seconds', async () => {
  const { trade, closed, seconds, end } = await start('hyperliquid', () => true)
  for (const ms of [100, 1_100, 2_100, 9_000, 10_000, 61_000]) trade(ms)
  assert.deepEqual(await closed(), [])
  seconds.minutes([minuteCandle(5)], [], MINUTE)
  await seconds.close(START_MS + 64_000)
  assert.deepEqual(await closed(), [0, 1, 2, 9, 10])
  await end()
})

test('trades without numbers: what is sent again of the time before the start closes nothing there', async () => {
  const { trade, closed, seconds, end } = await start('hyperliquid', () => true)
  for (const ms of [-11_200, 100, 1_100]) trade(ms)
  seconds.minutes([minuteCandle(2)], [], MINUTE)
  await seconds.close(START_MS + 64_000)
  assert.deepEqual(await closed(), [0, 1])
  await end()
})

test('trades without numbers: a minute that lacks some is waited for, then none of its seconds is closed', async () => {
  const { trade, closed, seconds, counts, end } = await start('hyperliquid', () => true)
  for (const ms of [100, 1_100, 9_000]) trade(ms)
  seconds.minutes([minuteCandle(4)], [], MINUTE)
  await seconds.close(START_MS + 64_000)
  assert.equal(counts.missedMinutes, 0)
  await seconds.close(START_MS + 81_000)
  assert.deepEqual([await closed(), counts.missedMinutes], [[], 1])
  await end()
})

test('trades without numbers: a gap whose trades were all sent again is none', async () => {
  const { trade, closed, seconds, end } = await start('hyperliquid', () => true)
  seconds.gap(START_MS + 500, START_MS + 5_000)
  for (const ms of [100, 1_100, 9_000]) trade(ms)
  seconds.minutes([minuteCandle(3)], [], MINUTE)
  await seconds.close(START_MS + 64_000)
  assert.deepEqual(await closed(), [0, 1, 9])
  await end()
})

test('trades without numbers: around a gap, only seconds are closed of which a candle of the stream proves the trades', async () => {
  const { trade, closed, seconds, end } = await start('hyperliquid', () => true)
  seconds.gap(START_MS + 500, START_MS + 5_000)
  for (const ms of [100, 1_100, 9_000, 20_000, 40_000]) trade(ms)
  // One trade is in the gap, the other was lost unnoticed: it may be any trade before the candle that counts six.
  seconds.minute(minuteCandle(6), START_MS + 30_000)
  seconds.minutes([minuteCandle(7)], [], MINUTE)
  await seconds.close(START_MS + 64_000)
  assert.deepEqual(await closed(), [], 'the others may come late')
  await seconds.close(START_MS + 81_000)
  assert.deepEqual(await closed(), [40])
  await end()
})

test('trades without numbers: no second of a known gap is closed, however many trades the minute has', async () => {
  for (const [count, expected] of [
    [2, [9]],
    [7, []],
  ] as const) {
    const { trade, closed, seconds, end } = await start('hyperliquid', () => true)
    seconds.gap(START_MS + 500, START_MS + 5_000)
    for (const ms of [100, 1_100, 9_000]) trade(ms)
    // Proves the first two trades, in whose seconds the gap lies.
    seconds.minute(minuteCandle(2), START_MS + 2_000)
    seconds.minutes([minuteCandle(count)], [], MINUTE)
    await seconds.close(START_MS + 81_000)
    assert.deepEqual(await closed(), expected, `${count} counted`)
    await end()
  }
})

test('a second in a gap, or whose rate is not known yet, is not closed', async () => {
  let isKnown = false
  const { trade, closed, seconds, end } = await start('binance-futures', () => isKnown)
  for (const ms of [100, 1_100, 2_100, 3_100, 4_100]) trade(ms)
  assert.deepEqual(await closed(), [])
  seconds.gap(START_MS + 1_200, START_MS + 1_300)
  isKnown = true
  assert.deepEqual(await closed(), [0])
  trade(6_000)
  assert.deepEqual(await closed(), [0, 2, 3])
  await end()
})

test('trades without numbers: an empty trade is no row, though the venue counts it', async () => {
  const { trade, closed, seconds, counts, end } = await start('hyperliquid', () => true)
  for (const ms of [100, 1_100, 9_000]) trade(ms)
  seconds.empty(START_MS + 2_000)
  seconds.minutes([minuteCandle(4, 3)], [], MINUTE)
  await seconds.close(START_MS + 64_000)
  assert.deepEqual([await closed(), counts.missedMinutes], [[0, 1, 9], 0])
  await end()
})

test('trades without numbers: an empty trade does not stand for a lost one, whose volume is missing', async () => {
  const { trade, closed, seconds, counts, end } = await start('hyperliquid', () => true)
  for (const ms of [100, 1_100, 9_000]) trade(ms)
  seconds.empty(START_MS + 2_000)
  seconds.gap(START_MS + 2_000, START_MS + 3_000)
  seconds.minutes([minuteCandle(4)], [], MINUTE)
  await seconds.close(START_MS + 64_000)
  assert.deepEqual([await closed(), counts.missedMinutes], [[], 0], 'it may come late')
  await seconds.close(START_MS + 81_000)
  assert.deepEqual([await closed(), counts.missedMinutes], [[], 1])
  await end()
})

test('trades without numbers: after a restart, empty trades of the earlier run are found by the equal volume', async () => {
  for (const [volume, expected] of [
    [3, [0, 1, 40]],
    [4, []],
  ] as const) {
    const trades = [100, 1_100].map((ms) => ({
      ...({ id: `${ms}`, timeMs: START_MS + ms, price: '100', size: '1', side: 'buy', fills: 1 } as const),
    }))
    const left = { fromMs: START_MS, trades, gaps: [] }
    const { trade, closed, seconds, counts, end } = await start('hyperliquid', () => true, { left })
    trade(40_000)
    seconds.minutes([minuteCandle(4, volume)], [], MINUTE)
    await seconds.close(START_MS + 81_000)
    assert.deepEqual([await closed(), counts.missedMinutes], [expected, volume === 3 ? 0 : 1])
    await end()
  }
})

test('trades without numbers: the stored trades of a minute are judged by the count of the venue', () => {
  const judge = (
    count: number | undefined,
    stored: number,
    more: Partial<Parameters<typeof judgeCount>[0]> = {},
  ) => judgeCount({ count, stored, empty: 0, isInGap: false, isOverdue: false, ...more })
  assert.equal(judge(3, 3), 'whole')
  assert.equal(judge(0, 0), 'whole')
  assert.equal(judge(2, 3), 'more')
  assert.equal(judge(3, 2), 'wait')
  assert.equal(judge(3, 2, { isOverdue: true }), 'lost')
  assert.equal(judge(3, 2, { empty: 5 }), 'whole', 'the venue may count empty trades')
  assert.equal(judge(3, 3, { empty: 1 }), 'whole', 'or may not')
  assert.equal(judge(3, 3, { isInGap: true }), 'whole', 'what was missed was sent again')
  assert.equal(judge(0, 0, { isInGap: true }), 'broken', 'a count of none proves nothing')
  assert.equal(judge(3, 2, { isInGap: true, isOverdue: true }), 'lost', 'perhaps not only in the gap')
  assert.equal(judge(undefined, 0), 'wait', 'nothing proves that there was no trade')
  assert.equal(judge(undefined, 2, { isOverdue: true }), 'lost')
})
