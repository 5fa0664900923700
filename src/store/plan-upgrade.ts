/** What an upgrade to this release will do to the tables of a store. */
import type { UpgradePlan } from './maintain.ts'
import type { Migration } from './migration.ts'

/** Bytes of a database that a step processes per second, measured on a busy machine; an idle one is faster. */
const BYTES_PER_SECOND = 10_000_000
const MIN_SECONDS = 1
/** Matches steps that read or write rows; all others take the same time however much is stored. */
const ON_ROWS = /\b(SELECT|UPDATE|DELETE)\b/i
const CREATED_INDEX = /\bCREATE (?:UNIQUE )?INDEX (?:[^\s;]+ )?ON ([^\s;(]+)/gi

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
  // Tables that do not exist yet are created when they are needed.
  const steps = found === 0 ? [] : migrations.slice(found)
  const onRows = steps.filter(({ sql }) => isOnRows(sql)).length
  return {
    tables,
    from: found,
    to: newest,
    steps: steps.map(({ name }) => name),
    bytes,
    seconds: steps.length === 0 ? 0 : Math.max(MIN_SECONDS, Math.ceil((onRows * bytes) / BYTES_PER_SECOND)),
    isNewer: false,
    rewritesRows: steps.some(({ sql }) => ON_ROWS.test(sql)),
  }
}

function isOnRows(sql: string): boolean {
  return ON_ROWS.test(sql) || [...sql.matchAll(CREATED_INDEX)].some(([, table = '']) => !creates(sql, table))
}

/** An index on a table of the same step has no rows to read. */
function creates(sql: string, table: string): boolean {
  return new RegExp(`\\bCREATE (UNLOGGED )?TABLE (IF NOT EXISTS )?${RegExp.escape(table)}\\b`, 'i').test(sql)
}
