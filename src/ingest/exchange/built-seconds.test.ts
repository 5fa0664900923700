import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ZERO } from '../../core/decimal.ts'
import { BuiltSeconds } from './built-seconds.ts'

const START_MS = 600_000
const OPEN_END = Number.POSITIVE_INFINITY
const trade = (timeMs: number) => ({ timeMs, price: '1', size: '1', side: 'buy', fills: 1 }) as const

test('everything before the beginning is a gap, and nothing of it is shown', () => {
  const seconds = new BuiltSeconds()
  seconds.add(trade(START_MS))
  assert.equal(seconds.inGap(START_MS, START_MS + 1_000), true)
  assert.deepEqual(seconds.changed(), [])
  seconds.begin(START_MS + 1_000)
  seconds.begin(START_MS)
  for (const ms of [500, 1_500]) seconds.add(trade(START_MS + ms))
  assert.deepEqual(
    seconds.changed().map(({ openMs }) => openMs - START_MS),
    [1_000],
  )
  assert.equal(seconds.inGap(START_MS, START_MS + 1_000), true)
  assert.equal(seconds.inGap(START_MS + 1_000, START_MS + 2_000), false)
})

test('an open gap lasts until its end is known', () => {
  const seconds = new BuiltSeconds()
  seconds.begin(0)
  seconds.gap(START_MS, OPEN_END)
  seconds.gap(START_MS + 500, OPEN_END)
  assert.equal(seconds.inGap(START_MS + 60_000, START_MS + 61_000), true)
  seconds.gap(Number.NEGATIVE_INFINITY, START_MS + 5_000)
  assert.equal(seconds.inGap(START_MS + 4_000, START_MS + 5_000), true)
  assert.equal(seconds.inGap(START_MS + 5_000, START_MS + 6_000), false)
})

test('the trades and gaps of the run before are taken over', () => {
  const seconds = new BuiltSeconds()
  const open = { fromMs: START_MS + 2_000, toMs: OPEN_END }
  seconds.resume({ fromMs: START_MS, trades: [{ ...trade(START_MS + 100), id: 'a' }], gaps: [open] })
  seconds.begin(START_MS + 30_000)
  seconds.gap(Number.NEGATIVE_INFINITY, START_MS + 30_000)
  for (const ms of [2_500, 31_000]) seconds.add(trade(START_MS + ms))
  const openOf = ({ openMs }: { openMs: number }) => openMs - START_MS
  assert.deepEqual(seconds.ofMinute(START_MS).map(openOf), [0, 2_000, 31_000])
  assert.deepEqual(seconds.outsideGaps(seconds.take(START_MS + 60_000)).map(openOf), [0, 31_000])
  assert.equal(seconds.add(trade(START_MS + 100)), false, 'its second was taken')
})

test('a minute that the venue leaves out counts no trade, one of which nothing is known has no count', () => {
  const seconds = new BuiltSeconds()
  seconds.begin(START_MS + 61_000)
  const unknown = [{ fromMs: START_MS + 120_000, toMs: START_MS + 180_000 }]
  const minutes = seconds.minutesOf([], unknown, { fromMs: START_MS, toMs: START_MS + 180_000 }, 7)
  assert.deepEqual(
    minutes.map(({ openMs, count, volume, knownMs }) => [openMs - START_MS, count, volume, knownMs]),
    [
      [60_000, 0, ZERO, 7],
      [120_000, undefined, undefined, 7],
    ],
  )
})

test('of seconds that nothing closes twelve hours are held: the oldest hour is let go, and is a gap', () => {
  const hourMs = 3_600_000
  const seconds = new BuiltSeconds()
  const beganMs = START_MS + 10 * 60_000
  seconds.begin(beganMs)
  for (let at = beganMs; at < beganMs + 12 * hourMs; at += 1_000) seconds.add(trade(at))
  assert.equal(seconds.dropOldest(), undefined)
  seconds.add(trade(beganMs + 12 * hourMs))
  assert.deepEqual(seconds.dropOldest(), { fromMs: beganMs, toMs: hourMs })
  assert.deepEqual(
    [seconds.inGap(hourMs - 1_000, hourMs), seconds.inGap(hourMs, hourMs + 1_000)],
    [true, false],
  )
  assert.equal(seconds.at(hourMs - 1_000), undefined)
  assert.equal(seconds.dropOldest(), undefined)
  const known = { fromMs: beganMs, toMs: hourMs + 60_000 }
  assert.deepEqual(
    seconds.minutesOf([], [], known, 7).map(({ openMs }) => openMs),
    [hourMs],
    'its minutes are not waited for',
  )
})
