/**
 * Distributes the big tables over the servers of Citus, the distributed PostgreSQL. All rows of a feed, of a
 * transaction and of an address are on one server each, so that a page is read from one server. Every other table stays
 * on the coordinator and unknown to Citus, which restricts what can be done with the tables it knows.
 *
 * A transaction that changes such local tables and one other server would be committed there first and could then be
 * lost here. Citus commits in two phases once it has seen changes on two servers, so every write begins with a change
 * of `commits`, an empty table that Citus knows.
 */
import type { Client } from 'pg'
import { ENVIRONMENTS } from '../../core/environment.ts'
import type { Distributed, DistributeOptions, Finding } from '../maintain.ts'
import { StoreOpenError } from '../open-error.ts'
import type { PostgresAddress } from './address.ts'
import { connect, storeError } from './connection.ts'
import { schemaOf } from './open-database.ts'
import { BLOCKS, SERIES_TABLES } from './partitions.ts'
import { upgradeSchemas } from './upgrade.ts'

interface Spread {
  readonly table: string
  readonly column: string
}

/** Rows with the same value in their column are on the same server, across all tables of a list. */
const TOGETHER: readonly (readonly Spread[])[] = [
  [...SERIES_TABLES, 'series_revisions', 'book_groups', BLOCKS, 'book_tail', 'coverage_spans'].map(
    (table) => ({
      table,
      column: 'feed_id',
    }),
  ),
  [{ table: 'transactions', column: 'tx_id' }],
  [{ table: 'address_rows', column: 'address' }],
]
/** An arbitrary key of the lock that lets only one call work at a time. */
export const DISTRIBUTE_LOCK = 0x5450_4344
/** The longest acceptable time until a commit that a dying server left open is resolved. */
const MAX_SETTLE_MS = 5_000
/** In the shared schema. */
const COMMITS = 'commits'

/** Can be interrupted and called again. A table that has rows is locked while they are moved. */
export async function distributeTables(
  address: PostgresAddress,
  { shards, onProgress }: DistributeOptions,
): Promise<Distributed[]> {
  const { client } = await connect(address, [address.schema], { isUnlimited: true })
  try {
    await requireCitus(client, address)
    await client.query('SELECT pg_advisory_lock($1)', [DISTRIBUTE_LOCK])
    await upgradeSchemas(address)
    const done: Distributed[] = []
    const total = ENVIRONMENTS.length * TOGETHER.flat().length
    await makeKnown(client, `${address.schema}.${COMMITS}`)
    for (const environment of ENVIRONMENTS) {
      const schema = schemaOf(address, environment)
      const step = (table: string) => onProgress({ done: done.length, total, step: `${schema}.${table}` })
      for (const together of TOGETHER) {
        for (const each of together) {
          step(each.table)
          done.push(await spread(client, schema, each, { shards, beside: together[0] }))
        }
      }
    }
    onProgress({ done: total, total, step: 'done' })
    return done
  } catch (error) {
    throw storeError(error)
  } finally {
    await client.end()
  }
}

async function makeKnown(client: Client, table: string): Promise<void> {
  if ((await piecesOf(client, table)) !== undefined) return
  await client.query('SELECT citus_add_local_table_to_metadata($1::text::regclass)', [table])
}

async function spread(
  client: Client,
  schema: string,
  { table, column }: Spread,
  { shards, beside }: { shards: number; beside: Spread | undefined },
): Promise<Distributed> {
  const name = `${schema}.${table}`
  const found = await piecesOf(client, name)
  if (found !== undefined) return { table: name, by: column, shards: found, before: true }
  const isFirst = beside === undefined || beside.table === table
  await client.query('BEGIN')
  try {
    await client.query(
      isFirst
        ? `SELECT create_distributed_table($1::text::regclass, $2, colocate_with => 'none', shard_count => $3::int)`
        : 'SELECT create_distributed_table($1::text::regclass, $2, colocate_with => $3)',
      [name, column, isFirst ? shards : `${schema}.${beside.table}`],
    )
    // The rows have been copied, so the local ones would only take up space.
    await client.query('SELECT truncate_local_data_after_distributing_table($1::text::regclass)', [name])
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
  return { table: name, by: column, shards: (await piecesOf(client, name)) ?? 0, before: false }
}

/** The number of shards; undefined if Citus does not know the table. */
async function piecesOf(client: Client, table: string): Promise<number | undefined> {
  const { rows } = await client.query<{ shards: number | null }>(
    `SELECT (SELECT count(*) FROM pg_dist_shard s WHERE s.logicalrelid = p.logicalrelid)::int AS shards
      FROM pg_dist_partition p WHERE p.logicalrelid = $1::text::regclass`,
    [table],
  )
  return rows[0]?.shards ?? undefined
}

/** Throws one sentence for each step that an operator may have forgotten. */
async function requireCitus(client: Client, { database }: PostgresAddress): Promise<void> {
  const { rows } = await client.query<{ version: string | null; is_installed: boolean }>(
    `SELECT (SELECT extversion FROM pg_extension WHERE extname = 'citus') AS version,
      EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'citus') AS is_installed`,
  )
  const { version = null, is_installed = false } = rows[0] ?? {}
  if (!is_installed)
    throw new StoreOpenError(
      "Citus is not installed on this server. Install it there and on the other servers, set shared_preload_libraries = 'citus' and restart them.",
    )
  if (version === null)
    throw new StoreOpenError(
      `The database ${database} does not use Citus yet: run CREATE EXTENSION citus in it, here and on the other servers.`,
    )
  const servers = await client.query<{ own: number; has_coordinator: boolean; workers: number }>(
    `SELECT (SELECT groupid FROM pg_dist_local_group) AS own,
      coalesce(bool_or(groupid = 0), false) AS has_coordinator,
      count(*) FILTER (WHERE shouldhaveshards AND isactive AND noderole = 'primary')::int AS workers FROM pg_dist_node`,
  )
  const { own = 0, has_coordinator = false, workers = 0 } = servers.rows[0] ?? {}
  if (own !== 0)
    throw new StoreOpenError('This server is a worker of Citus: the store address must name the coordinator.')
  if (!has_coordinator)
    throw new StoreOpenError(
      "Citus does not know this server: run SELECT citus_set_coordinator_host('this host', 5432) with the name by which the other servers reach it.",
    )
  if (workers === 0)
    throw new StoreOpenError(
      "Citus has no server for rows: run SELECT citus_add_node('worker host', 5432) for each of them.",
    )
}

/** The servers of a distributed store and whether all of it is distributed; empty without Citus. */
export async function checkServers(client: Client, address: PostgresAddress): Promise<Finding[]> {
  const { rows } = await client.query<{ version: string | null; settle_ms: number | null }>(
    `SELECT (SELECT extversion FROM pg_extension WHERE extname = 'citus') AS version,
      (SELECT setting::int FROM pg_settings WHERE name = 'citus.recover_2pc_interval') AS settle_ms`,
  )
  const { version = null, settle_ms: settleMs = null } = rows[0] ?? {}
  if (version === null) return []
  const servers = await client.query<{ name: string; is_active: boolean }>(
    `SELECT nodename || ':' || nodeport AS name, isactive AS is_active FROM pg_dist_node
      WHERE shouldhaveshards AND noderole = 'primary' ORDER BY 1`,
  )
  const names = ENVIRONMENTS.flatMap((environment) =>
    TOGETHER.flat().map(({ table }) => `${schemaOf(address, environment)}.${table}`),
  )
  const spread = await client.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM pg_dist_partition WHERE logicalrelid = ANY (SELECT to_regclass(name) FROM unnest($1::text[]) AS name)',
    [names],
  )
  const count = spread.rows[0]?.count ?? 0
  const state = count === names.length ? 'ok' : count === 0 ? 'note' : 'problem'
  const left = state === 'ok' ? '' : ' (tapeline store distribute)'
  return [
    ...servers.rows.map(
      ({ name, is_active }): Finding => ({
        state: is_active ? 'ok' : 'problem',
        about: name,
        finding: is_active ? 'has rows of spread tables' : 'is switched off in Citus',
      }),
    ),
    {
      state,
      about: 'distribution',
      finding: `Citus ${version}: ${count} of ${names.length} tables are spread over ${servers.rows.length} servers${left}`,
    },
    ...(settleMs !== null && settleMs > MAX_SETTLE_MS
      ? [
          {
            state: 'note' as const,
            about: 'citus.recover_2pc_interval',
            finding: `${settleMs / 1000} s: for so long rows can be missing after a server died during a commit; set it to 2s`,
          },
        ]
      : []),
  ]
}
