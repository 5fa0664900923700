import { type Fence, type LeaseRecord, type LeaseStore, MAX_LEASE_AHEAD_MS } from '../leases.ts'
import { statement } from './database.ts'
import { type DatabaseOptions, openDatabase } from './open-database.ts'
import { isUniqueViolation } from './texts.ts'

/** Above all terms of earlier timelines, the last of which this server may not have seen (connection.ts). */
const TERM_BASE = `current_setting('tapeline.number_base')::bigint`
const TAKE = statement(
  'lease_take',
  `INSERT INTO leases AS l (part, holder, term, until_ms) VALUES ($1, $2, ${TERM_BASE} + 1, now_ms() + $3::bigint)
   ON CONFLICT (part) DO UPDATE SET holder = $2, term = greatest(l.term, ${TERM_BASE}) + 1, until_ms = now_ms() + $3::bigint
     WHERE l.until_ms <= now_ms() OR l.until_ms > now_ms() + ${MAX_LEASE_AHEAD_MS}
   RETURNING term`,
)
const RENEW = statement(
  'lease_renew',
  'UPDATE leases SET until_ms = now_ms() + $3::bigint WHERE part = $1 AND term = $2 AND until_ms > 0',
)
const RELEASE = statement('lease_release', 'UPDATE leases SET until_ms = 0 WHERE part = $1 AND term = $2')
const LIST = statement(
  'lease_list',
  'SELECT part, holder, term, greatest(until_ms - now_ms(), 0) AS "leftMs" FROM leases ORDER BY part',
)

export function openPostgresLeases(
  options: Omit<DatabaseOptions, 'label' | 'schema' | 'migrations'>,
): LeaseStore {
  const database = openDatabase({
    ...options,
    schema: options.address.schema,
    label: 'leases',
    migrations: [],
  })
  return {
    async take({ part, holder, durationMs }) {
      const taking = database.write((tx) => tx.rows<{ term: number }>(TAKE, [part, holder, durationMs]))
      // Of several that take a part for the first time at once, one may meet another's row in the index of terms, for
      // which ON CONFLICT does nothing.
      const [taken] = await taking.catch((error) => {
        if (isUniqueViolation(error)) return []
        throw error
      })
      return taken === undefined ? undefined : { part, term: taken.term }
    },
    renew: async ({ part, term }: Fence, durationMs) =>
      (await database.run(RENEW, [part, term, durationMs])) === 1,
    async release({ part, term }) {
      await database.run(RELEASE, [part, term])
    },
    list: () => database.rows<LeaseRecord>(LIST),
    close: () => database.close(),
  }
}
