/** Until when the trades of followed markets are final, and when a recorder is dropped. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  isDone,
  isUntraded,
  type MarketProgress,
  mayHaveClosed,
  mayRunOn,
  needsOwnSweep,
  tradesFinalMs,
} from './followed-market.ts'
import type { MarketRecorder } from './record-market.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const STARTED_MS = Date.parse('2026-11-15T12:00:00Z')
const NOW_MS = STARTED_MS + 2 * HOUR_MS

const market = (fromMs: number, toMs: number, more: Partial<MarketProgress> = {}): MarketProgress => ({
  window: { startMs: STARTED_MS + fromMs, endMs: STARTED_MS + toMs },
  isListedLate: false,
  isReady: true,
  isRestored: true,
  isSwept: false,
  ...more,
})

const finalMs = (markets: MarketProgress[], more: { sweptToMs?: number; hasEarlierRun?: boolean } = {}) =>
  tradesFinalMs({
    markets,
    sweptToMs: NOW_MS,
    hasEarlierRun: true,
    startedMs: STARTED_MS,
    nowMs: NOW_MS,
    firstTradeMs: ({ startMs }) => startMs - MINUTE_MS,
    ...more,
  })

test('trades are final sixteen minutes after they were made, and never beyond the last round of sweeps', () => {
  const followed = [market(HOUR_MS, 3 * HOUR_MS)]
  assert.equal(finalMs(followed), NOW_MS - 16 * MINUTE_MS)
  assert.equal(finalMs(followed, { sweptToMs: NOW_MS - HOUR_MS }), NOW_MS - HOUR_MS)
  assert.equal(finalMs(followed, { sweptToMs: 0 }), 0)
})

test('a market that ended unrecorded holds finality back from its first trade on, until it is swept', () => {
  const ended = market(-HOUR_MS, -30 * MINUTE_MS)
  assert.equal(finalMs([ended]), STARTED_MS - HOUR_MS - MINUTE_MS)
  assert.equal(finalMs([{ ...ended, isSwept: true }]), NOW_MS - 16 * MINUTE_MS)
})

test('so does a running market whose past could not be requested', () => {
  const running = market(-HOUR_MS, 3 * HOUR_MS, { isRestored: false })
  assert.ok(needsOwnSweep(running, STARTED_MS))
  assert.equal(finalMs([running]), STARTED_MS - HOUR_MS - MINUTE_MS)
})

test('so does a running market of which the venue counts more than was restored', () => {
  const unproven = { fromMs: STARTED_MS - MINUTE_MS, toMs: STARTED_MS, isGap: false }
  const running = market(-HOUR_MS, 3 * HOUR_MS)
  assert.equal(finalMs([{ ...running, unproven }]), STARTED_MS - HOUR_MS - MINUTE_MS)
  assert.equal(finalMs([running]), NOW_MS - 16 * MINUTE_MS)
})

test('so does a market that was over before it was listed, in the very first run too', () => {
  const late = market(0, HOUR_MS, { isListedLate: true })
  assert.ok(needsOwnSweep(late, STARTED_MS))
  for (const hasEarlierRun of [true, false]) {
    assert.equal(finalMs([late], { hasEarlierRun }), STARTED_MS - MINUTE_MS)
    assert.equal(finalMs([{ ...late, isSwept: true }], { hasEarlierRun }), NOW_MS - 16 * MINUTE_MS)
  }
})

test('the very first run waits for nothing that was traded before it', () => {
  const ended = market(-HOUR_MS, -30 * MINUTE_MS)
  assert.equal(finalMs([ended], { hasEarlierRun: false }), NOW_MS - 16 * MINUTE_MS)
})

test('a market that was not swept for a day is not waited for any longer', () => {
  const ended = market(-30 * HOUR_MS, -26 * HOUR_MS)
  assert.equal(finalMs([ended]), NOW_MS - 16 * MINUTE_MS)
})

test('a recorder is dropped half an hour after the end once swept, a day after it if never, and not while it is restored', () => {
  const ended = market(0, HOUR_MS)
  const afterEnd = (ms: number) => STARTED_MS + HOUR_MS + ms
  assert.equal(isDone({ ...ended, isSwept: true }, afterEnd(30 * MINUTE_MS - 1)), false)
  assert.equal(isDone({ ...ended, isSwept: true }, afterEnd(30 * MINUTE_MS)), true)
  assert.equal(isDone(ended, afterEnd(24 * HOUR_MS)), false)
  assert.equal(isDone(ended, afterEnd(25 * HOUR_MS)), true)
  assert.equal(isDone({ ...ended, isReady: false }, afterEnd(25 * HOUR_MS)), false)
})

test('a volume of 0 proves that nothing was traded before it was received, or at all once the market is closed', () => {
  const of = (volume: string | null, status: string) =>
    ({ market: { volume, status } }) as unknown as MarketRecorder
  const given = (volume: string | null, status: string) =>
    isUntraded({ recorder: of(volume, status), figuresMs: NOW_MS }, NOW_MS - MINUTE_MS)
  assert.deepEqual([given('0.00', 'open'), given(null, 'open'), given('1.00', 'open')], [true, false, false])
  const recorder = of('0.00', 'open')
  assert.equal(isUntraded({ recorder, figuresMs: NOW_MS - 2 * MINUTE_MS }, NOW_MS - MINUTE_MS), false)
  assert.equal(isUntraded({ recorder: of('0.00', 'closed'), figuresMs: 0 }, NOW_MS), true)
})

test('a market that lists leave out may have closed before its listed end, for half an hour', () => {
  const given = (figuresMs: number, more: { status?: string; endMs?: number; nowMs?: number } = {}) => {
    const { status = 'open', endMs = NOW_MS + 3_600_000, nowMs = NOW_MS } = more
    const recorder = { market: { status }, startMs: NOW_MS - 3_600_000, endMs } as MarketRecorder
    return mayHaveClosed({ recorder, figuresMs }, nowMs, nowMs - MINUTE_MS)
  }
  assert.equal(given(NOW_MS - 2 * MINUTE_MS), true)
  assert.equal(given(NOW_MS - 30_000), false, 'listed')
  assert.equal(given(NOW_MS - 31 * MINUTE_MS), false)
  assert.equal(given(NOW_MS - 2 * MINUTE_MS, { status: 'closed' }), false)
  assert.equal(given(NOW_MS - 2 * MINUTE_MS, { endMs: NOW_MS - 1 }), false, 'over')
  assert.equal(given(NOW_MS - 62 * MINUTE_MS, { nowMs: NOW_MS - 61 * MINUTE_MS }), false, 'not begun')
})

test('a market may run on after its end until an answer since then shows that it is over, for half an hour', () => {
  const given = (figuresMs: number, status = 'open', nowMs = NOW_MS) =>
    mayRunOn(
      { recorder: { market: { status }, endMs: NOW_MS - MINUTE_MS } as MarketRecorder, figuresMs },
      nowMs,
    )
  assert.equal(given(NOW_MS - 2 * MINUTE_MS), true)
  assert.equal(given(NOW_MS - 30_000), false)
  assert.equal(given(NOW_MS - 2 * MINUTE_MS, 'closed'), false)
  assert.equal(given(0, 'open', NOW_MS + 29 * MINUTE_MS), false)
  assert.equal(given(0, 'open', NOW_MS - 2 * MINUTE_MS), false, 'still running')
})
