/** The shortest schedules that once broke a law for exchanges. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exchangeKind } from './exchange.ts'
import { simulate } from './simulation.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

test('a silence is claimed neither across a restart nor across a lost connection', async () => {
  const fault = (kind: string, atMs: number, durationMs: number) => ({
    ...{ part: 'futures', kind, atMs, durationMs, settings: {} },
  })
  const { broken } = await simulate({
    seed: 2,
    hours: 0.25,
    parts: [exchangeKind('futures')],
    schedule: [
      // The rest of the silence is too short to be noticed.
      fault('mute', 3 * MINUTE_MS, 60 * SECOND_MS),
      fault('kill', 3 * MINUTE_MS + 25 * SECOND_MS, 8 * SECOND_MS),
      fault('mute', 7 * MINUTE_MS, 50 * SECOND_MS),
      fault('drop', 7 * MINUTE_MS + 25 * SECOND_MS, 2 * SECOND_MS),
    ],
  })
  assert.deepEqual(broken, [])
})
