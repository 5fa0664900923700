import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { type BackfillSummary, CommandError, type MarketAccess } from './command.ts'
import { MARKET_COMMANDS } from './market-commands.ts'

async function backfill(summary: BackfillSummary): Promise<unknown[]> {
  const printed: unknown[] = []
  const command = MARKET_COMMANDS.find(({ name }) => name === 'backfill')
  const unused = () => assert.fail('not needed')
  const market = { backfill: async () => summary } as unknown as MarketAccess
  try {
    await command?.run({
      values: { source: 'cexa', from: '2026-03-14' },
      output: { print: (value: unknown) => printed.push(value), line: unused },
      clock: manualClock(Date.UTC(2026, 2, 15)),
      market: async () => market,
      usualEnvironment: 'live',
      ...{ accounts: undefined as never, users: undefined as never, serviceUrl: unused },
    })
  } catch (error) {
    assert.ok(error instanceof CommandError)
    printed.push(error.message)
  }
  return printed
}

test('a backfill with ranges that could not be filled prints its summary and fails', async () => {
  const summary = { ranges: 4, failed: 1, rowsInserted: 9, rowsCorrected: 0 }
  assert.deepEqual(await backfill(summary), [
    summary,
    '1 of 4 ranges could not be filled: the same command tries them again.',
  ])
  assert.deepEqual(await backfill({ ...summary, failed: 0 }), [{ ...summary, failed: 0 }])
})
