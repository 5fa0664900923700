import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UsageRow } from '../accounts/accounts.ts'
import { usageDay } from '../store/accounts/sum-charges.ts'
import { readUsage } from './read-usage.ts'

const DAY_MS = 86_400_000
const FROM_MS = Date.UTC(2026, 0, 1)
const TO_MS = FROM_MS + 9 * DAY_MS
/** Ten days with three rows each. */
const ALL = Array.from({ length: 30 }, (_, i): UsageRow => {
  const day = usageDay(FROM_MS + Math.floor(i / 3) * DAY_MS)
  const counts = { requests: 1, credits: 1, rows: 1, failed: 0, rateLimited: 0 }
  return { day, environment: 'test', endpoint: `GET /${i % 3}`, keyId: 'key', ...counts }
})
const accounts = {
  usage: async (_accountId: string, fromMs: number, toMs: number, newest = ALL.length) =>
    ALL.filter(({ day }) => day >= usageDay(fromMs) && day <= usageDay(toMs)).slice(-newest),
}
const read = (maxPortions: number, portion: number) =>
  readUsage(accounts, 'acc', { fromMs: FROM_MS, toMs: TO_MS }, maxPortions, portion)

test('usage in portions is complete, each row once and in order', async () => {
  for (const portion of [3, 4, 5, 7, 30, 100]) {
    assert.deepEqual(await read(20, portion), { rows: ALL, isCut: false }, String(portion))
  }
})

test('more rows than that are cut to the newest whole days', async () => {
  assert.deepEqual(await read(1, 7), { rows: ALL.slice(-6), isCut: true })
  assert.deepEqual(await read(2, 7), { rows: ALL.slice(-12), isCut: true })
  assert.deepEqual(await read(5, 2), { rows: [], isCut: true }, 'a day that is too long by itself')
})
