/** Checks a PostgreSQL store as its operator would: hosts, versions, partitions, replication, settings, use, clock. */
import type { Client } from 'pg'
import { SOURCES } from '../../core/source.ts'
import type { Finding } from '../maintain.ts'
import { type PostgresAddress, shownAddress } from './address.ts'
import { connect, hostStates, storeError } from './connection.ts'
import { checkServers } from './distribute.ts'
import { storeLabels } from './labels.ts'
import { isPartlyCopied, type Label, versionOf } from './migrate.ts'
import { partitionsAhead } from './partitions.ts'

const MIN_SERVER = 15
/** A pool is the connections of one thread to one schema. A process that records no venues opens this many. */
const MIN_POOLS = 4
/**
 * The most pools that one process that does everything can open: the API with three schemas, an indexer for each
 * environment, and a recorder for each venue and for the sandbox, with the schema of its environment and the shared
 * one.
 */
const MAX_POOLS = 3 + 2 + 2 * (SOURCES.length + 1)
const MAX_CLOCK_OFFSET_MS = 2_000
/** A standby that is further behind could not take over soon. */
const MAX_LAG_BYTES = 256 * 1024 * 1024

type Check = (client: Client, address: PostgresAddress) => Promise<Finding[]>

const ok = (about: string, finding: string): Finding => ({ state: 'ok', about, finding })
const note = (about: string, finding: string): Finding => ({ state: 'note', about, finding })
const problem = (about: string, finding: string): Finding => ({ state: 'problem', about, finding })

export async function checkServer(address: PostgresAddress): Promise<Finding[]> {
  const { isReached, findings: hosts } = await checkHosts(address)
  if (!isReached) return hosts
  let client: Client
  try {
    ;({ client } = await connect(address, [address.schema], { isUnlimited: true }))
  } catch (error) {
    return [...hosts, problem('server', (storeError(error) as Error).message)]
  }
  try {
    const findings = [...hosts, ...(await checkVersion(client, address))]
    for (const check of [
      checkTables,
      checkPartitions,
      checkServers,
      checkReplication,
      checkSettings,
      checkUse,
      checkClock,
    ])
      findings.push(...(await check(client, address)))
    return findings
  } catch (error) {
    throw storeError(error)
  } finally {
    await client.end()
  }
}

async function checkHosts(address: PostgresAddress): Promise<{ isReached: boolean; findings: Finding[] }> {
  const states = await hostStates(address)
  const primaries = states.filter(({ state }) => state === 'primary')
  const findings = [
    ok('address', shownAddress(address)),
    ...states.map(({ host, state, error }) => {
      if (state === 'read only') return problem(host, 'it is the primary and accepts no writes')
      return state === undefined ? problem(host, `cannot be reached: ${error}`) : ok(host, state)
    }),
    ...(primaries.length > 1
      ? [problem('hosts', 'more than one of them accepts writes: they are not one cluster')]
      : []),
  ]
  return { isReached: states.some(({ state }) => state !== undefined), findings }
}

const checkVersion: Check = async (client) => {
  const [row] = (
    await client.query<{ version: string; number: number; encoding: string; size: string }>(
      `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS number,
        current_setting('server_encoding') AS encoding, pg_size_pretty(pg_database_size(current_database())) AS size`,
    )
  ).rows
  if (row === undefined) return []
  const { version, number, encoding, size } = row
  return [
    number < MIN_SERVER
      ? problem('version', `PostgreSQL ${version}; ${MIN_SERVER} or newer is needed`)
      : ok('version', `PostgreSQL ${version}`),
    encoding === 'UTF8'
      ? ok('encoding', encoding)
      : problem('encoding', `${encoding}: the database must be created with ENCODING 'UTF8'`),
    ok('size', size),
  ]
}

const checkTables: Check = async (client, address) => {
  const findings: Finding[] = []
  const labels = storeLabels(address)
  for (const [schema, own] of Map.groupBy(labels, (each) => each.schema)) {
    const states = await Promise.all(own.map((label) => tableState(client, label)))
    const wrong = states.filter(({ state }) => state === 'problem')
    const versions = states.map(({ finding }) => finding).join(', ')
    // An environment that no process serves has no tables.
    if (schema !== address.schema && states.every(({ finding }) => finding.endsWith(NOT_CREATED)))
      findings.push(note(schema, 'no tables yet: the first process that needs them creates them'))
    else findings.push(wrong.length === 0 ? ok(schema, versions) : problem(schema, versions))
  }
  const { rows } = await client.query<{ may: boolean; invalid: string | null }>(
    `SELECT has_database_privilege(current_database(), 'CREATE') AS may,
      (SELECT string_agg(i.indexrelid::regclass::text, ', ') FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE NOT i.indisvalid AND n.nspname = ANY ($1)) AS invalid`,
    [[...new Set(labels.map(({ schema }) => schema))]],
  )
  if (await isPartlyCopied(client, address.schema))
    findings.push(problem('copy', 'a copy into it is unfinished: run the same tapeline store copy again'))
  if (rows[0]?.may === false)
    findings.push(problem('rights', 'the user may not create schemas: GRANT CREATE ON DATABASE'))
  if (rows[0]?.invalid) findings.push(problem('indexes', `not valid: ${rows[0].invalid}; REINDEX them`))
  return findings
}

const NOT_CREATED = 'not created yet (tapeline store migrate)'

async function tableState(client: Client, { schema, label, migrations }: Label): Promise<Finding> {
  const [found, known] = [await versionOf(client, schema, label), migrations.length]
  if (found === known) return ok(schema, `${label} ${found}`)
  if (found === 0) return problem(schema, `${label} ${NOT_CREATED}`)
  return found < known
    ? problem(schema, `${label} ${found} of ${known} (tapeline store migrate)`)
    : problem(schema, `${label} ${found}, newer than this release, which knows ${known}`)
}

const checkPartitions: Check = async (client, address) => {
  const schemas = new Set(storeLabels(address).map(({ schema }) => schema))
  const { rows } = await client.query<{ schema: string; parent: string; names: string[]; now: number }>(
    `SELECT n.nspname AS schema, p.relname AS parent, (extract(epoch FROM now()) * 1000)::bigint AS now,
        array_agg(c.relname::text ORDER BY c.relname) FILTER (WHERE c.relname IS NOT NULL) AS names
      FROM pg_class p JOIN pg_namespace n ON n.oid = p.relnamespace
        LEFT JOIN pg_inherits i ON i.inhparent = p.oid LEFT JOIN pg_class c ON c.oid = i.inhrelid
      WHERE p.relkind = 'p' AND n.nspname = ANY ($1) GROUP BY 1, 2 ORDER BY 1, 2`,
    [[...schemas]],
  )
  return [...Map.groupBy(rows, ({ schema }) => schema)].map(([schema, tables]) => {
    const names = new Set(tables.flatMap((table) => table.names ?? []))
    const missing = partitionsAhead(Number(tables[0]?.now)).filter(({ name }) => !names.has(name))
    const months = [...names].map((name) => /_y(\d{4})m(\d\d)$/.exec(name)).filter((found) => found !== null)
    const sorted = months.map(([, year, month]) => `${year}-${month}`).sort()
    const range = sorted.length === 0 ? '' : `, ${sorted[0]} to ${sorted.at(-1)}`
    const there = `${names.size} in ${tables.length} tables${range}`
    return missing.length === 0
      ? ok(`${schema} partitions`, there)
      : note(
          `${schema} partitions`,
          `${there}; ${missing.length} of this month and the next two do not exist yet: upkeep creates them, or the first row does`,
        )
  })
}

interface StandbyRow {
  readonly name: string
  readonly state: string | null
  readonly sync: string | null
  readonly lag: string | null
}

const checkReplication: Check = async (client) => {
  const { rows } = await client.query<StandbyRow>(
    `SELECT application_name || coalesce(' at ' || host(client_addr), '') AS name, state, sync_state AS sync,
        (pg_current_wal_lsn() - replay_lsn)::text AS lag
      FROM pg_stat_replication WHERE application_name <> 'pg_basebackup' ORDER BY 1`,
  )
  const wanted = await settingOf(client, 'synchronous_standby_names')
  const findings = rows.map(({ name, state, sync, lag }) => {
    const about = `standby ${name}`
    if (state === null)
      return note(about, 'its state is not visible to this user: GRANT pg_monitor TO the user')
    const behind = Number(lag ?? 0)
    const text = `${state}, ${sync}, ${behind} bytes behind`
    return state !== 'streaming' || behind > MAX_LAG_BYTES ? problem(about, text) : ok(about, text)
  })
  const isSynchronous = rows.some(({ sync }) => sync === 'sync' || sync === 'quorum')
  const isVisible = rows.every(({ state }) => state !== null)
  if (wanted !== '' && !isSynchronous && isVisible)
    findings.push(
      problem('replication', `no standby of synchronous_standby_names (${wanted}) is connected: writes wait`),
    )
  else if (wanted !== '')
    findings.push(ok('replication', 'synchronous: nothing acknowledged is lost in a failover'))
  else
    findings.push(
      note(
        'replication',
        `${rows.length === 0 ? 'no standby' : 'not synchronous'}: the last moments before a failure can be lost in a failover`,
      ),
    )
  return findings
}

/** A setting, its good values, and the state and meaning of any other value. */
const SETTINGS: readonly (readonly [string, readonly string[], Finding['state'], string])[] = [
  ['fsync', ['on'], 'problem', 'a crash of the machine can destroy the database'],
  ['full_page_writes', ['on'], 'problem', 'a crash of the machine can destroy the database'],
  [
    'synchronous_commit',
    ['on', 'remote_apply', 'remote_write'],
    'problem',
    'what was acknowledged can be lost',
  ],
  ['autovacuum', ['on'], 'problem', 'tables grow without end'],
  ['wal_level', ['replica', 'logical'], 'note', 'neither standbys nor recovery to a point in time'],
  ['default_transaction_read_only', ['off'], 'problem', 'nothing can be written'],
]

const checkSettings: Check = async (client, address) => {
  const findings: Finding[] = []
  for (const [name, good, state, meaning] of SETTINGS) {
    const value = await settingOf(client, name)
    findings.push(
      good.includes(value) ? ok(name, value) : { state, about: name, finding: `${value}: ${meaning}` },
    )
  }
  const max = Number(await settingOf(client, 'max_connections'))
  const reserved = Number(await settingOf(client, 'superuser_reserved_connections'))
  const { rows } = await client.query<{ used: number; collation: string; zone: string; stale: boolean }>(
    `SELECT (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
      d.datcollate AS collation, (SELECT reset_val FROM pg_settings WHERE name = 'TimeZone') AS zone,
      d.datcollversion IS DISTINCT FROM pg_database_collation_actual_version(d.oid) AS stale
      FROM pg_database d WHERE d.datname = current_database()`,
  )
  const [least, most] = [MIN_POOLS * address.poolSize, MAX_POOLS * address.poolSize]
  const connections = `${max} (${reserved} reserved), ${rows[0]?.used} in use; one process that does everything may open ${most}`
  const advice = `${connections}: raise it, or lower pool_size in the address`
  findings.push(
    max - reserved < least
      ? problem('max_connections', advice)
      : max - reserved < most
        ? note('max_connections', advice)
        : ok('max_connections', connections),
    rows[0]?.stale === true
      ? note(
          'collation',
          `${rows[0].collation}, of another version of the system's library; keys are compared by bytes and not affected`,
        )
      : ok('collation', `${rows[0]?.collation}; keys are compared by bytes`),
    ok('time zone', `${rows[0]?.zone}; sessions of the service use UTC`),
  )
  return findings
}

const checkUse: Check = async (client, { schema }) => {
  const exists = await client.query<{ there: boolean }>(
    `SELECT to_regclass($1) IS NOT NULL AND to_regclass($2) IS NOT NULL AS there`,
    [`${schema}.leases`, `${schema}.heartbeats`],
  )
  if (exists.rows[0]?.there !== true) return []
  const { rows } = await client.query<{ part: string; holder: string }>(
    `SELECT part, holder FROM leases WHERE until_ms > now_ms() ORDER BY part`,
  )
  return rows.length === 0
    ? [ok('in use', 'no process leads a part')]
    : rows.map(({ part, holder }) => ok('in use', `${part} is led by ${holder}`))
}

/** Rows carry the times of processes and leases those of the server, so the clocks must agree. */
const checkClock: Check = async (client) => {
  const askedMs = Date.now()
  const { rows } = await client.query<{ now: string }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
  )
  const aheadMs = Math.round((askedMs + Date.now()) / 2 - Number(rows[0]?.now))
  const found = `this machine is ${Math.abs(aheadMs)} ms ${aheadMs < 0 ? 'behind' : 'ahead of'} the server`
  return Math.abs(aheadMs) > MAX_CLOCK_OFFSET_MS
    ? [problem('clock', `${found}: set both clocks (NTP)`)]
    : [ok('clock', found)]
}

async function settingOf(client: Client, name: string): Promise<string> {
  const { rows } = await client.query<{ value: string }>('SELECT current_setting($1) AS value', [name])
  return rows[0]?.value ?? ''
}
