import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { type Decimal, decimal } from '../../core/decimal.ts'
import { VENUES } from '../../venues/list.ts'
import type { AggregateTradeObservation } from '../../venues/observation.ts'
import type { HistoryPage, HistoryRequest, Venue } from '../../venues/venue.ts'
import { createCandleBuilder } from './build-candles.ts'
import type { Candle } from './candle.ts'
import { proveMinutes } from './prove-minutes.ts'
import { noCounts, type SymbolParts } from './symbol-parts.ts'

const OPEN_MS = Date.parse('2026-11-10T10:00:00Z')
const SECOND_MS = 1_000

/** A venue with trades of size 1 at these times, each with this many fills. */
function setUp(
  timesOf: (number: number) => readonly number[],
  fills: (timeMs: number) => number = () => 1,
  { own = [], isBroken = true }: { own?: readonly Candle[]; isBroken?: boolean } = {},
) {
  const manual = manualClock(OPEN_MS + 61_000)
  let setMs = 0
  const clock = { ...manual, now: () => manual.now() + setMs, elapsed: () => manual.now() - OPEN_MS }
  let requests = 0
  async function* history({ range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    const times = timesOf(requests++).filter((at) => at >= range.fromMs && at < range.toMs)
    const observations = times.map(
      (venueTimeMs, id): AggregateTradeObservation => ({
        ...{
          kind: 'aggregate_trade',
          source: 'cexa_futures',
          key: null,
          symbol: 'BTC',
          instrument: 'BTCUSDT',
        },
        ...{ id, price: '1', size: '1', side: 'buy', venueTimeMs, receivedMs: OPEN_MS },
        ...{ firstTradeId: 10 * id, lastTradeId: 10 * id + fills(venueTimeMs) - 1 },
      }),
    )
    yield { observations, covered: range, missing: [] }
  }
  const parts = {
    ...{ plan: VENUES['binance-futures'].plan, venue: { history } as unknown as Venue, symbol: 'BTC' },
    ...{ writer: { ready: async () => {} }, counts: noCounts(), clock, signal: new AbortController().signal },
  } as unknown as SymbolParts
  const follower = { provenMs: OPEN_MS + 60_000, prove() {} }
  const prover = proveMinutes(parts, { follower, lengthMs: SECOND_MS, onError: assert.ifError })
  const knownMs = clock.now()
  return {
    async judge(volume: string, afterMs: number, sums: { quote?: Decimal; buyVolume?: Decimal } = {}) {
      clock.advance(afterMs)
      const minute = { openMs: OPEN_MS, volume: decimal(volume), ...sums, knownMs }
      const verdict = prover.judge(minute, own, isBroken, clock.now())
      await new Promise(setImmediate)
      return verdict
    },
    requests: () => requests,
    setClock(byMs: number) {
      setMs += byMs
    },
  }
}

test("an answer that contradicts the venue's own candle proves nothing: it is requested again, then given up", async () => {
  const all = [1, 2, 3].map((second) => OPEN_MS + second * SECOND_MS)
  const { judge, requests } = setUp((number) => (number === 0 ? all.slice(1) : all))
  assert.equal((await judge('3', 0)).kind, 'wait')
  assert.equal((await judge('3', SECOND_MS)).kind, 'wait', 'a trade of the first answer is missing')
  assert.equal((await judge('3', 30 * SECOND_MS)).kind, 'wait')
  assert.equal(requests(), 2)
  const verdict = await judge('3', SECOND_MS)
  assert.deepEqual(verdict.kind === 'whole' && verdict.candles.length, 3)
  const never = setUp(() => all)
  for (let at = 0; at < 120; at += 10)
    assert.equal((await never.judge('4', 10_000 * Number(at > 0))).kind, 'wait')
  assert.equal((await never.judge('4', 10_000)).kind, 'late')
  assert.ok(never.requests() <= 5)
})

test('a clock that is set back holds up no minute', async () => {
  const all = [1, 2, 3].map((second) => OPEN_MS + second * SECOND_MS)
  const { judge, setClock, requests } = setUp((number) => (number === 0 ? all.slice(1) : all))
  await judge('3', 0)
  await judge('3', SECOND_MS)
  setClock(-60_000)
  await judge('3', 30 * SECOND_MS)
  assert.equal(requests(), 2)
  assert.equal((await judge('3', SECOND_MS)).kind, 'whole')
  const never = setUp(() => all)
  await never.judge('4', 0)
  never.setClock(-3_600_000)
  await never.judge('4', SECOND_MS)
  assert.equal((await never.judge('4', SECOND_MS)).kind, 'late')
})

test('a candle that contradicts both the answer and our own unbroken trades is wrong', async () => {
  const all = [1, 2, 3].map((second) => OPEN_MS + second * SECOND_MS)
  const built = createCandleBuilder({ lengthMs: SECOND_MS })
  for (const timeMs of all) built.add({ timeMs, price: '1', size: '1', side: 'buy', fills: 1 })
  const own = built.take(OPEN_MS + 60_000)
  const { judge, requests } = setUp(() => all, undefined, { own, isBroken: false })
  assert.equal((await judge('4', 0)).kind, 'wait')
  const verdict = await judge('4', SECOND_MS)
  assert.ok(verdict.kind === 'whole' && verdict.candles === own)
  assert.equal(requests(), 1)
  const broken = setUp(() => all, undefined, { own })
  const other = setUp(() => all.slice(1), undefined, { own, isBroken: false })
  for (const each of [broken, other]) {
    await each.judge('4', 0)
    assert.equal((await each.judge('4', SECOND_MS)).kind, 'wait')
  }
})

test("a wrong price or side among our own trades shows in the sums of the venue's candle", async () => {
  const all = [1, 2, 3].map((second) => OPEN_MS + second * SECOND_MS)
  const sums = { quote: decimal('3'), buyVolume: decimal('3') }
  const ownWith = (odd: { price?: string; side?: 'sell' }) => {
    const built = createCandleBuilder({ lengthMs: SECOND_MS })
    for (const [index, timeMs] of all.entries())
      built.add({ timeMs, price: '1', size: '1', side: 'buy', fills: 1, ...(index === 1 ? odd : {}) })
    return built.take(OPEN_MS + 60_000)
  }
  const right = setUp(() => all, undefined, { own: ownWith({}), isBroken: false })
  assert.equal((await right.judge('3', 0, sums)).kind, 'whole')
  assert.equal(right.requests(), 0)
  for (const odd of [{ price: '1.5' }, { side: 'sell' as const }]) {
    const own = ownWith(odd)
    const { judge, requests } = setUp(() => all, undefined, { own, isBroken: false })
    assert.equal((await judge('3', 0, sums)).kind, 'wait')
    const verdict = await judge('3', SECOND_MS, sums)
    assert.ok(verdict.kind === 'whole' && verdict.candles !== own)
    assert.deepEqual(
      verdict.candles.map(({ close, buys }) => [close, buys]),
      [
        ['1', 1],
        ['1', 1],
        ['1', 1],
      ],
    )
    assert.equal(requests(), 1)
  }
})

test('of an answer, what spans the ends of the minute may be of the minutes around it', async () => {
  const times = [OPEN_MS - 40, OPEN_MS + 5_000, OPEN_MS + 59_950]
  for (const volume of ['1', '2', '3']) {
    const { judge } = setUp(
      () => times,
      (timeMs) => (timeMs === OPEN_MS + 5_000 ? 1 : 2),
    )
    await judge(volume, 0)
    const verdict = await judge(volume, SECOND_MS)
    assert.deepEqual(
      verdict.kind === 'whole' && verdict.candles.map(({ openMs }) => openMs - OPEN_MS),
      [5_000, 59_000],
      volume,
    )
  }
})
