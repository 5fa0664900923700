import type { Accounts, UsageRow } from '../../accounts/accounts.ts'
import { DAY_MS, formatTime, parseTime } from '../../core/time.ts'
import { ActiveCounts } from '../../kit/active-counts.ts'
import type { Clock } from '../../kit/clock.ts'
import { Slice } from '../../kit/time-slices.ts'
import { readUsage } from '../read-usage.ts'
import { DashboardError, type DashboardReply, type DashboardRoute, json, userRoute } from '../route.ts'
import { balanceViews, usageRowView } from '../views.ts'
import type { UsageView } from '../wire.ts'

const DEFAULT_DAYS = 30
const MAX_DAYS = 400
/** An account with many keys has hundreds of rows a day: of those the page shows one portion, a download ten. */
const MAX_PORTIONS = { page: 1, download: 10 }
const MAX_DOWNLOADS = 1

export interface UsageDeps {
  readonly accounts: Accounts
  readonly clock: Clock
}

export function usageRoutes(deps: UsageDeps): DashboardRoute[] {
  const downloads = new ActiveCounts<string>()
  return [
    userRoute('GET usage', async ({ accountId, query }) => json(await usageOf(deps, accountId, query))),
    userRoute('GET usage.csv', async ({ accountId, query }) => {
      const range = rangeOf(query, deps.clock)
      if (downloads.of(accountId) >= MAX_DOWNLOADS) {
        throw new DashboardError(429, 'rate_limited', 'A download is in progress.', ['Retry-After', '1'])
      }
      const end = downloads.add(accountId)
      try {
        const { rows, isCut } = await readUsage(deps.accounts, accountId, range, MAX_PORTIONS.download)
        if (isCut) {
          throw new DashboardError(422, 'invalid_param', 'The range has too many rows. Choose a shorter one.')
        }
        return await csv(rows)
      } finally {
        end()
      }
    }),
  ]
}

/** Also what an operator sees of an account. */
export async function usageOf(
  { accounts, clock }: UsageDeps,
  accountId: string,
  query: URLSearchParams,
): Promise<UsageView> {
  const range = rangeOf(query, clock)
  const account = await accounts.get(accountId)
  const { rows, isCut } = await readUsage(accounts, accountId, range, MAX_PORTIONS.page)
  const keys = await accounts.listKeys(accountId)
  return {
    from: formatTime(range.fromMs),
    to: formatTime(range.toMs),
    balances: await balanceViews(accounts, account),
    rows: rows.map(usageRowView),
    rows_from: isCut ? (rows[0]?.day ?? null) : null,
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

async function csv(rows: readonly UsageRow[]): Promise<DashboardReply> {
  const lines: string[] = []
  const slice = new Slice()
  for (const row of rows) {
    if (slice.isOver) await slice.next()
    const view = usageRowView(row)
    lines.push(COLUMNS.map((column) => cell(String(view[column]))).join(','))
  }
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
