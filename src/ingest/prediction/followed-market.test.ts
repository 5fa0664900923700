/** Until when the trades of followed markets are final, and when a recorder is dropped. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDone, type MarketProgress, needsOwnSweep, tradesFinalMs } from './followed-market.ts'

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
