import type { Accounts, UsageRow } from '../../accounts/accounts.ts'
import { DAY_MS, formatTime, parseTime } from '../../core/time.ts'
import type { Clock } from '../../kit/clock.ts'
import { DashboardError, type DashboardReply, type DashboardRoute, json, userRoute } from '../route.ts'
import { balanceViews, usageRowView } from '../views.ts'
import type { UsageView } from '../wire.ts'

const DEFAULT_DAYS = 30
const MAX_DAYS = 400

export interface UsageDeps {
  readonly accounts: Accounts
  readonly clock: Clock
}

export function usageRoutes(deps: UsageDeps): DashboardRoute[] {
  return [
    userRoute('GET usage', async ({ accountId, query }) => json(await usageOf(deps, accountId, query))),
    userRoute('GET usage.csv', async ({ accountId, query }) => {
      const { fromMs, toMs } = rangeOf(query, deps.clock)
      return csv(await deps.accounts.usage(accountId, fromMs, toMs))
    }),
  ]
}

/** Also what an operator sees of an account. */
export async function usageOf(
  { accounts, clock }: UsageDeps,
  accountId: string,
  query: URLSearchParams,
): Promise<UsageView> {
  const { fromMs, toMs } = rangeOf(query, clock)
  const account = await accounts.get(accountId)
  const rows = await accounts.usage(accountId, fromMs, toMs)
  const keys = await accounts.listKeys(accountId)
  return {
    from: formatTime(fromMs),
    to: formatTime(toMs),
    balances: await balanceViews(accounts, account),
    rows: rows.map(usageRowView),
    keys: keys.map(({ id, name }) => ({ id, name })),
  }
}

function rangeOf(query: URLSearchParams, clock: Clock): { fromMs: number; toMs: number } {
  const toMs = timeOf(query.get('to')) ?? clock.now()
  const fromMs = timeOf(query.get('from')) ?? toMs - (DEFAULT_DAYS - 1) * DAY_MS
  if (fromMs > toMs || toMs - fromMs > MAX_DAYS * DAY_MS) {
    throw new DashboardError(422, 'invalid_param', `The range must have 1 to ${MAX_DAYS} days.`)
  }
  return { fromMs, toMs }
}

function timeOf(text: string | null): number | undefined {
  if (text === null) return undefined
  const time = parseTime(text)
  if (time === undefined) throw new DashboardError(422, 'invalid_param', 'The range is not readable.')
  return time
}

const COLUMNS = [
  'day',
  'environment',
  'endpoint',
  'key_id',
  'requests',
  'credits',
  'rows',
  'failed',
  'rate_limited',
] as const

function csv(rows: readonly UsageRow[]): DashboardReply {
  const lines = rows.map((row) => {
    const view = usageRowView(row)
    return COLUMNS.map((column) => cell(String(view[column]))).join(',')
  })
  return {
    status: 200,
    headers: [
      'Content-Type',
      'text/csv; charset=utf-8',
      'Content-Disposition',
      'attachment; filename="tapeline-usage.csv"',
      'Cache-Control',
      'no-store',
    ],
    body: `${[COLUMNS.join(','), ...lines].join('\r\n')}\r\n`,
  }
}

/** A cell that begins like a formula would be run by a spreadsheet. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
