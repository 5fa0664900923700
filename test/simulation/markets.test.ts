/** The shortest schedules that once broke a law for prediction markets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { marketsKind } from './markets.ts'
import { simulate } from './simulation.ts'

const MINUTE_MS = 60_000

test('a recorder that is killed in a silence that nobody has noticed claims nothing of it', async () => {
  const about = { part: 'kalshi', settings: {} }
  const { broken } = await simulate({
    seed: 1_055,
    hours: 0.4,
    parts: [marketsKind('kalshi')],
    schedule: [
      { ...about, kind: 'frozen-book', atMs: 8 * MINUTE_MS + 11_265, durationMs: 281_368 },
      { ...about, kind: 'kill', atMs: 9 * MINUTE_MS + 4_786, durationMs: 130 },
    ],
  })
  assert.deepEqual(broken, [])
})

test('a trade that is found after a restart is the last of its candle, where it was the last', async () => {
  const about = { part: 'polymarket', settings: {} }
  const { broken } = await simulate({
    seed: 1_016,
    hours: 0.62,
    parts: [marketsKind('polymarket')],
    schedule: [
      { ...about, kind: 'hang', atMs: 6 * MINUTE_MS + 18_398, durationMs: 205_772 },
      { ...about, kind: 'restart', atMs: 10 * MINUTE_MS + 15_032, durationMs: 31_669 },
    ],
  })
  assert.deepEqual(broken, [])
})
