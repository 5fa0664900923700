import type { Accounts, UsageRow } from '../accounts/accounts.ts'
import { nextTurn } from '../kit/time-slices.ts'

/** So many rows are read in one turn of the loop. */
const PORTION = 20_000

/**
 * The usage of a range, from its newest day backwards, in portions of whole days. `isCut`: there is more than so many
 * portions have, and the rows are those of the newest days.
 */
export async function readUsage(
  accounts: Pick<Accounts, 'usage'>,
  accountId: string,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  maxPortions: number,
  portion = PORTION,
): Promise<{ rows: UsageRow[]; isCut: boolean }> {
  const portions: UsageRow[][] = []
  let untilMs = toMs
  for (let read = 0; read < maxPortions; read++) {
    if (read > 0) await nextTurn()
    const rows = await accounts.usage(accountId, fromMs, untilMs, portion + 1)
    if (rows.length <= portion) return { rows: [rows, ...portions].flat(), isCut: false }
    // A part of the oldest day would look like all of it.
    const oldest = rows[0]?.day ?? ''
    const first = rows.findIndex(({ day }) => day !== oldest)
    if (first < 0) break
    portions.unshift(rows.slice(first))
    untilMs = Date.parse(oldest)
  }
  return { rows: portions.flat(), isCut: true }
}
