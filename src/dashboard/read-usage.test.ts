import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Accounts, UsageRow } from '../accounts/accounts.ts'
import { systemClock } from '../kit/clock.ts'
import { usageDay } from '../store/accounts/sum-charges.ts'
import type { UsagePlace } from '../store/accounts.ts'
import { readUsage } from './read-usage.ts'
import type { DashboardReply, DashboardRoute, SignedIn } from './route.ts'
import { usageRoutes } from './routes/usage.ts'
import type { UsageView } from './wire.ts'

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
  usage: async (
    _accountId: string,
    fromMs: number,
    toMs: number,
    { newest = ALL.length, before }: { newest?: number; before?: UsagePlace } = {},
  ) => {
    const end =
      before && ALL.findIndex(({ day, endpoint }) => day === before.day && endpoint === before.endpoint)
    const found = ALL.slice(0, end).filter(({ day }) => day >= usageDay(fromMs) && day <= usageDay(toMs))
    return found.slice(-newest)
  },
}
const read = (maxRows: number, portion: number) =>
  readUsage(accounts, 'acc', { fromMs: FROM_MS, toMs: TO_MS }, maxRows, portion)

test('usage in portions is complete, each row once and in order', async () => {
  for (const portion of [1, 2, 3, 4, 7, 30, 100]) {
    assert.deepEqual(await read(30, portion), { rows: ALL, isCut: false }, String(portion))
  }
})

test('more rows than that are cut to the newest whole days', async () => {
  for (const portion of [2, 7, 100]) {
    assert.deepEqual(await read(7, portion), { rows: ALL.slice(-6), isCut: true })
    assert.deepEqual(await read(14, portion), { rows: ALL.slice(-12), isCut: true })
    assert.deepEqual(await read(29, portion), { rows: ALL.slice(-27), isCut: true })
    assert.deepEqual(await read(2, portion), { rows: [], isCut: true }, 'a day that is too long by itself')
  }
})

test('a page of many rows is read and made in small portions, and only so many of an account at a time', async () => {
  const all = Array.from({ length: 12_000 }, (_, i): UsageRow => {
    const counts = { requests: i, credits: 1, rows: 1, failed: 0, rateLimited: 0 }
    return { day: '2026-01-05', environment: 'test', endpoint: 'GET /', keyId: `key_${i}`, ...counts }
  })
  const portions: number[] = []
  const many = {
    get: async () => ({}),
    balance: async () => ({ used: 0, limit: 1, remaining: 1, resetsAtMs: TO_MS }),
    listKeys: async () => [],
    usage: async (...[, , , page]: Parameters<Accounts['usage']>) => {
      const found = all
        .slice(0, (page?.before as UsageRow | undefined)?.requests ?? all.length)
        .slice(-(page?.newest ?? all.length))
      portions.push(found.length)
      return found
    },
  } as unknown as Accounts
  let checks = 0
  const [page, download] = usageRoutes({
    accounts: many,
    clock: { ...systemClock, now: () => TO_MS },
    checkUnread: () => checks++,
  })
  const run = (route: DashboardRoute | undefined) =>
    route?.run({ accountId: 'acc', query: new URLSearchParams() } as SignedIn)
  const textOf = (reply: DashboardReply | undefined) => Buffer.concat(reply?.body as Buffer[]).toString()

  const view = JSON.parse(textOf(await run(page))) as UsageView
  assert.deepEqual([view.rows.length, view.rows_from], [all.length, null])
  assert.ok(
    view.rows.every(({ key_id }, i) => key_id === `key_${i}`),
    'in order',
  )
  assert.ok(Math.max(...portions) <= 1_000, `${Math.max(...portions)} rows in one turn`)
  assert.equal(textOf(await run(download)).split('\r\n').length, all.length + 2)
  assert.equal(checks, 2)

  const statuses = await Promise.allSettled([page, page, page, page].map(run))
  assert.deepEqual(
    statuses.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected'],
  )
})
