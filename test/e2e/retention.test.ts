import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestService } from '../fakes/service.ts'

test('a service does not start when a plan promises more than is kept, and says what to change', async () => {
  const env = {
    TAPELINE_TEST: 'off',
    TAPELINE_LIVE: 'perpdex',
    TAPELINE_RETENTION: 'trades=90d,trades@perpdex=30d',
  }
  await assert.rejects(startTestService({ env }), {
    name: 'ConfigError',
    message:
      'TAPELINE_RETENTION: trades@perpdex is kept for 30 days, but the plan business promises 31 days of trades. Keep it longer, or lower historyDays.trades of the plan in the file that TAPELINE_PLANS names.',
  })
})
