import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import type { AggregateTradeObservation } from '../../venues/observation.ts'
import type { HistoryPage, HistoryRequest } from '../../venues/venue.ts'
import { followTrades, MAX_WAITING_TRADES } from './follow-trades.ts'
import { OUT_OF_ORDER_MS } from './trade-sequence.ts'

const START_MS = 600_000
const timeOf = (id: number) => START_MS + id * 100

function trade(id: number): AggregateTradeObservation {
  return {
    ...{ kind: 'aggregate_trade', source: 'cexa', symbol: 'BTC', instrument: 'BTCUSDT', key: String(id), id },
    ...{ venueTimeMs: timeOf(id), receivedMs: timeOf(id), firstTradeId: id, lastTradeId: id },
    ...{ price: '1', size: '1', side: 'buy' },
  }
}

/** `answeredToMs`: the venue's answers cover no time after this. */
function setUp(isKnown: (id: number) => boolean, answeredToMs = Number.POSITIVE_INFINITY) {
  const manual = manualClock(START_MS)
  let setMs = 0
  const clock = { ...manual, now: () => manual.now() + setMs, elapsed: () => manual.now() - START_MS }
  const out: number[] = []
  const gaps: [number, number][] = []
  const asked: HistoryRequest[] = []
  const follower = followTrades({
    venue: {
      async *history(request): AsyncGenerator<HistoryPage> {
        asked.push(request)
        const { range, afterId } = request
        const ids = Array.from({ length: 200 }, (_, id) => id)
        const found = ids.filter(
          (id) =>
            isKnown(id) &&
            timeOf(id) < range.toMs &&
            (afterId === undefined ? timeOf(id) >= range.fromMs : id > afterId),
        )
        const covered = { ...range, toMs: Math.min(range.toMs, answeredToMs) }
        yield { observations: found.map(trade), covered, missing: [] }
      },
    },
    symbol: 'BTC',
    clock,
    signal: new AbortController().signal,
    onTrade: ({ id }) => void out.push(id),
    onGap: (fromMs, toMs) => void gaps.push([fromMs, toMs]),
    onError: (error) => assert.fail(String(error)),
  })
  /** Advances the clock and lets all pending work finish. */
  async function pass(ms: number): Promise<void> {
    for (let at = 0; at < ms; at += 500) {
      clock.advance(500)
      follower.tick()
      for (let i = 0; i < 5; i++) await turn()
    }
  }
  const setClock = (byMs: number) => {
    setMs += byMs
  }
  return { follower, out, gaps, asked, pass, setClock }
}

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

test('the first trade is preceded by those of its minute, so that whole minutes come out', async () => {
  const { follower, out, pass } = setUp(() => true)
  for (const id of [50, 51]) follower.push(trade(id))
  assert.deepEqual(out, [])
  await pass(3_000)
  assert.deepEqual(out, numbers(0, 51))
  assert.equal(follower.startMs, START_MS)
})

test('frames out of order and repeats need no request', async () => {
  const { follower, out, asked, pass } = setUp(() => true)
  follower.push(trade(0))
  await pass(3_000)
  const before = asked.length
  for (const id of [2, 1, 3, 3, 2, 5, 4]) follower.push(trade(id))
  await pass(3_000)
  assert.deepEqual(out, numbers(0, 5))
  assert.equal(asked.length, before)
  assert.equal(follower.isWaiting, false)
})

test('a gap is requested by number and comes out in order, once', async () => {
  const { follower, out, gaps, pass } = setUp(() => true)
  follower.push(trade(0))
  await pass(3_000)
  for (const id of [1, 2, 10, 11]) follower.push(trade(id))
  assert.equal(follower.isWaiting, true)
  await pass(4_000)
  follower.push(trade(12))
  assert.deepEqual(out, numbers(0, 12))
  assert.deepEqual(gaps, [])
})

test('a clock that is set back while trades wait does not hold up their repair', async () => {
  const { follower, out, gaps, pass, setClock } = setUp((id) => id !== 5)
  follower.push(trade(0))
  await pass(3_000)
  for (const id of [1, 4]) follower.push(trade(id))
  setClock(-3_600_000)
  await pass(4_000)
  assert.deepEqual(out, numbers(0, 4))
  follower.push(trade(6))
  await pass(2_000)
  setClock(-3_600_000)
  await pass(30_000)
  assert.deepEqual([out.at(-1), gaps.length], [6, 1])
})

test('a gap that the venue cannot fill is reported, and what follows still comes out', async () => {
  const { follower, out, gaps, pass } = setUp((id) => id < 3 || id > 9)
  follower.push(trade(0))
  await pass(3_000)
  for (const id of [1, 2, 10, 11]) follower.push(trade(id))
  await pass(30_000)
  assert.deepEqual(out, [0, 1, 2, 10, 11])
  assert.deepEqual(gaps, [[timeOf(2), timeOf(10)]])
  assert.equal(follower.stats().lost, 1)
})

test('too many trades that wait for an answer are let out, with the gap reported', async () => {
  const { follower, out, gaps, pass } = setUp(() => true)
  follower.push(trade(0))
  await pass(2_000)
  for (let id = 500; id <= 500 + MAX_WAITING_TRADES; id++) follower.push(trade(id))
  assert.deepEqual(gaps, [[timeOf(0), timeOf(500)]])
  assert.equal(out.length, 1 + MAX_WAITING_TRADES + 1)
  assert.equal(follower.isWaiting, false)
})

test('after a repair, what waited comes out in several turns, in order', async () => {
  const { follower, out, pass } = setUp(() => true)
  follower.push(trade(0))
  await pass(3_000)
  for (let id = 2; id < 9_000; id++) follower.push(trade(id))
  let most = 0
  let seen = out.length
  let isOver = false
  const watch = async () => {
    while (!isOver) {
      most = Math.max(most, out.length - seen)
      seen = out.length
      await turn()
    }
  }
  const watching = watch()
  await pass(6_000)
  isOver = true
  await watching
  assert.deepEqual(
    out,
    Array.from({ length: 9_000 }, (_, id) => id),
  )
  assert.ok(most < 9_000 / 2, `${most} at once`)
})

test('silence proves nothing: only a later trade or an answer of the venue does', async () => {
  let known = 2
  const { follower, out, asked, pass } = setUp((id) => id <= known)
  for (const id of [0, 1, 2]) follower.push(trade(id))
  await pass(3_000)
  assert.equal(follower.provenMs, timeOf(2) - OUT_OF_ORDER_MS)
  await pass(10_000)
  assert.equal(follower.provenMs, timeOf(2) - OUT_OF_ORDER_MS, 'nothing waits, and nothing is proven')
  // The socket is down: trades happen but are not sent.
  known = 40
  const before = asked.length
  follower.prove(timeOf(50))
  await pass(3_000)
  assert.ok(asked.length > before)
  assert.deepEqual(out, numbers(0, 40), 'what is requested comes out')
  assert.equal(follower.provenMs, timeOf(50), 'a quiet market is proven by the answer')
  follower.push(trade(41))
  assert.deepEqual(out, numbers(0, 41))
})

test('an answer with a gap proves nothing behind it', async () => {
  const { follower, out, pass } = setUp((id) => id < 10 || id > 12)
  follower.push(trade(0))
  await pass(3_000)
  follower.prove(timeOf(30))
  await pass(5_000)
  assert.deepEqual(out, numbers(0, 9))
  assert.ok(follower.provenMs <= timeOf(10))
})

test('while a request is open, the stream goes on', async () => {
  const { follower, out, pass } = setUp(() => false)
  follower.push(trade(0))
  await pass(20_000)
  follower.prove(timeOf(150))
  await pass(2_500)
  for (const id of [1, 2, 3]) follower.push(trade(id))
  assert.deepEqual(out, numbers(0, 3))
})

test('an answer proves no more than the time that it is for', async () => {
  const { follower, pass } = setUp((id) => id < 1, timeOf(60))
  follower.push(trade(0))
  await pass(3_000)
  follower.prove(timeOf(100))
  await pass(3_000)
  assert.equal(follower.provenMs, timeOf(60))
})
