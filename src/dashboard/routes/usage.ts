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
/** An account with many keys has hundreds of rows per day. */
const MAX_ROWS = { page: 20_000, download: 200_000 }
/** Concurrent reads per account. The page refreshes every few seconds, perhaps in two tabs. */
const MAX_READS = { page: 3, download: 1 }
/** Rows that are formatted into one piece of text. */
const ROWS_PER_PART = 500

export interface UsageDeps {
  readonly accounts: Accounts
  readonly clock: Clock
}

/**
 * @param deps.checkUnread refuses an account that has too many unread answers. Only long answers call it, because a
 * user who has lost a key must always be able to revoke it.
 */
export function usageRoutes(
  deps: UsageDeps & { readonly checkUnread: (accountId: string) => void },
): DashboardRoute[] {
  const pages = new ActiveCounts<string>()
  const downloads = new ActiveCounts<string>()
  return [
    userRoute('GET usage', async ({ accountId, query }) => {
      deps.checkUnread(accountId)
      if (pages.left(accountId, MAX_READS.page) <= 0) throw busy('The usage is being read.')
      const end = pages.add(accountId)
      try {
        return await usageReply(deps, accountId, query)
      } finally {
        end()
      }
    }),
    userRoute('GET usage.csv', async ({ accountId, query }) => {
      deps.checkUnread(accountId)
      const range = rangeOf(query, deps.clock)
      if (downloads.left(accountId, MAX_READS.download) <= 0) throw busy('A download is in progress.')
      const end = downloads.add(accountId)
      try {
        const { rows, isCut } = await readUsage(deps.accounts, accountId, range, MAX_ROWS.download)
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

function busy(message: string): DashboardError {
  return new DashboardError(429, 'rate_limited', message, ['Retry-After', '1'])
}

/** Also used for what an operator sees of an account. */
export async function usageReply(
  { accounts, clock }: UsageDeps,
  accountId: string,
  query: URLSearchParams,
): Promise<DashboardReply> {
  const range = rangeOf(query, clock)
  const account = await accounts.get(accountId)
  const { rows, isCut } = await readUsage(accounts, accountId, range, MAX_ROWS.page)
  const keys = await accounts.listKeys(accountId)
  const rest: Omit<UsageView, 'rows'> = {
    from: formatTime(range.fromMs),
    to: formatTime(range.toMs),
    balances: await balanceViews(accounts, account),
    rows_from: isCut ? (rows[0]?.day ?? null) : null,
    keys: keys.map(({ id, name }) => ({ id, name })),
  }
  const reply = json(rest)
  const head = String(reply.body).slice(0, -1)
  const texts = await partsOf(rows, (row) => JSON.stringify(usageRowView(row)), ',')
  return { ...reply, body: [Buffer.from(`${head},"rows":[`), ...texts, Buffer.from(']}')] }
}

/** The rows as text, joined by `between`, in pieces that are built one time slice after the other. */
async function partsOf(
  rows: readonly UsageRow[],
  textOf: (row: UsageRow) => string,
  between: string,
): Promise<Buffer[]> {
  const parts: Buffer[] = []
  const slice = new Slice()
  for (let at = 0; at < rows.length; at += ROWS_PER_PART) {
    if (slice.isOver) await slice.next()
    const text = rows
      .slice(at, at + ROWS_PER_PART)
      .map(textOf)
      .join(between)
    parts.push(Buffer.from(at === 0 ? text : between + text))
  }
  return parts
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
  const lineOf = (row: UsageRow) => {
    const view = usageRowView(row)
    return COLUMNS.map((column) => cell(String(view[column]))).join(',')
  }
  const end = '\r\n'
  const lines = await partsOf(rows, (row) => lineOf(row) + end, '')
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
    body: [Buffer.from(COLUMNS.join(',') + end), ...lines],
  }
}

/** A spreadsheet would run a cell that begins like a formula. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
