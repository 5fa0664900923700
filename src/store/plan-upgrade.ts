/** What an upgrade to this release will do to the tables of a store. */
import type { UpgradePlan } from './maintain.ts'
import type { Migration } from './migration.ts'

/** Bytes of a database that a step goes through in a second: measured with a busy machine, a free one is faster. */
const BYTES_PER_SECOND = 10_000_000
const MIN_SECONDS = 1
/** Steps that read or write rows; all others take the same time whatever is stored. */
const ON_ROWS = /\b(SELECT|UPDATE|DELETE)\b/i

export function planOf(
  tables: string,
  { found, bytes, migrations }: { found: number; bytes: number; migrations: readonly Migration[] },
): UpgradePlan {
  const newest = migrations.length
  if (found > newest)
    return {
      tables,
      from: found,
      to: newest,
      steps: [],
      bytes,
      seconds: 0,
      isNewer: true,
      rewritesRows: false,
    }
  // Tables that are not there yet are created when they are needed.
  const steps = found === 0 ? [] : migrations.slice(found)
  const onRows = steps.filter(({ sql }) => ON_ROWS.test(sql)).length
  return {
    tables,
    from: found,
    to: newest,
    steps: steps.map(({ name }) => name),
    bytes,
    seconds: steps.length === 0 ? 0 : Math.max(MIN_SECONDS, Math.ceil((onRows * bytes) / BYTES_PER_SECOND)),
    isNewer: false,
    rewritesRows: onRows > 0,
  }
}
