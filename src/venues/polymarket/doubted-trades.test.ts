import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DoubtedTrades } from './doubted-trades.ts'

const MINUTE_MS = 60_000

test('an empty list of a traded market is believed after half an hour of answers, not after half an hour without any', () => {
  const doubts = new DoubtedTrades()
  const believed = (minutes: number) => doubts.isBelieved('a', minutes * MINUTE_MS)
  assert.ok(!believed(0))
  assert.ok(!believed(600), 'time without an answer proves nothing')
  for (let minute = 601; minute < 628; minute++) assert.ok(!believed(minute))
  assert.ok(believed(628))
  doubts.settled('a')
  assert.ok(!believed(629))
})

test('many markets are not remembered for ever', () => {
  const doubts = new DoubtedTrades()
  for (let step = 0; step <= 40; step++) doubts.isBelieved('kept', step * MINUTE_MS)
  assert.ok(doubts.isBelieved('kept', 41 * MINUTE_MS))
  for (let i = 0; i < 1_000; i++) doubts.isBelieved(`${i}`, 42 * MINUTE_MS)
  assert.ok(!doubts.isBelieved('kept', 43 * MINUTE_MS))
})
