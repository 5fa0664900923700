import type { Accounts, UsageRow } from '../accounts/accounts.ts'
import { nextTurn } from '../kit/time-slices.ts'

/** Rows read per turn of the event loop, because an embedded store reads them on this thread. */
const PORTION = 1_000

/**
 * The usage of a range, read from its newest row backwards. `isCut` means that there are more than `maxRows`; the rows
 * are then those of the newest complete days.
 */
export async function readUsage(
  accounts: Pick<Accounts, 'usage'>,
  accountId: string,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  maxRows: number,
  portion = PORTION,
): Promise<{ rows: UsageRow[]; isCut: boolean }> {
  const portions: UsageRow[][] = []
  let count = 0
  let before: UsageRow | undefined
  do {
    if (before !== undefined) await nextTurn()
    // Reads one row more than is shown, to find out whether there are more.
    const newest = Math.min(portion, maxRows + 1 - count)
    const read = await accounts.usage(accountId, fromMs, toMs, { newest, ...(before && { before }) })
    portions.push(read)
    count += read.length
    before = read.length < newest ? undefined : read[0]
  } while (before !== undefined && count <= maxRows)
  const rows = portions.reverse().flat()
  if (count <= maxRows) return { rows, isCut: false }
  // A part of the oldest day would look like the whole day.
  const oldest = rows[0]?.day
  const first = rows.findIndex(({ day }) => day !== oldest)
  return { rows: first < 0 ? [] : rows.slice(first), isCut: true }
}
