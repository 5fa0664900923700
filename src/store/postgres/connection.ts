/** One connection to the host that accepts writes. Only this file loads the driver. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Writable } from 'node:stream'
import type { Client, QueryResult, types } from 'pg'
import { StoreUnavailableError, WritesRefusedError } from '../../core/store-unavailable.ts'
import { type PostgresAddress, tlsOptions } from './address.ts'
import type { Statement } from './database.ts'
import { describedOnce } from './described-once.ts'
import { findHost, type HostAttempt } from './find-host.ts'

/** Shows in `pg_stat_activity` which process a connection belongs to. The server truncates longer names. */
const APPLICATION_NAME = `tapeline ${hostname().slice(0, 40)}:${process.pid}`
const CONNECT_MS = 5_000
const KEEP_ALIVE_MS = 5_000
/** A stopped process inside a transaction must not block its successor for longer. */
const IDLE_IN_TRANSACTION_MS = 4_000
/** How much longer than the server's own limit to wait for an answer; after that the connection itself is stuck. */
const ANSWER_GRACE_MS = 2_000

const INT8 = 20
/** Parses int8 as a number; values that can exceed 2^53 are selected as text. */
const numbersIn = ({ getTypeParser }: typeof types) =>
  ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : getTypeParser(oid, format as 'text')) as typeof getTypeParser

export interface ConnectOptions {
  /** Lifts the limits on statements and on pauses in a transaction, for work that an operator started and waits for. */
  readonly isUnlimited?: boolean
}

export interface ServerConnection {
  readonly client: Client
  /** Unique to this connection. */
  readonly id: string
  /** The id of the server process behind the connection. */
  readonly pid: number
  /** Tables may be on several servers (Citus), so one statement or snapshot does not read a single moment. */
  readonly isSpread: boolean
  readonly isBroken: () => boolean
  ask(statement: Statement, values?: readonly unknown[]): Promise<QueryResult>
  /** Stops waiting for an answer; the connection cannot be used any more. */
  abandon(): void
  /** The number of the next write, from 1. */
  nextWrite(): number
  /** Whether, since the last call, a commit was answered although its wait for a standby was cancelled. */
  takeUnconfirmed(): boolean
  /** Everything that `send` writes goes out in one piece. */
  together<R>(send: () => R): R
}

/** The server function that waits for a synchronous standby; it warns when its wait is cancelled. */
const SYNCHRONOUS_WAIT = 'SyncRepWaitForLSN'

/**
 * A server that took over without the newest writes may assign their numbers again, so each timeline has its own range.
 * A connection sees only one timeline, so the base is a setting of its session.
 */
const TIMELINE = `('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint`
const NUMBER_BASE = `${TIMELINE} - 1 << 32`
const TIMELINE_OF_STANDBY = `(SELECT greatest(c.timeline_id, r.min_recovery_end_timeline)
  FROM pg_control_checkpoint() c, pg_control_recovery() r)`

export async function connect(
  address: PostgresAddress,
  searchPath: readonly string[],
  options: ConnectOptions = {},
): Promise<ServerConnection> {
  const failures: string[] = []
  const found = await findHost<ServerConnection>(address.hosts, {
    async attempt({ host, port }) {
      try {
        const { connection, isReadOnly, server } = await connectTo(address, {
          ...{ host, port, searchPath, ...options },
        })
        if (connection === undefined) failures.push(`${host}:${port} is a standby`)
        return { found: connection, isWritable: !isReadOnly, server }
      } catch (error) {
        failures.push(`${host}:${port}: ${reasonOf(error)}`)
      }
      return undefined
    },
    letGo: ({ client }) => void client.end().catch(() => {}),
    onReplaced: ({ host, port }) =>
      void failures.push(
        `${host}:${port} was the primary before a failover: it lacks what was written since`,
      ),
  })
  if (found !== undefined) return found
  throw new StoreUnavailableError(`No PostgreSQL server accepts connections (${failures.join('; ')}).`)
}

/** The state of each host, without looking for the one to use. */
export async function hostStates(
  address: PostgresAddress,
): Promise<{ host: string; state: 'primary' | 'read only' | 'standby' | undefined; error: string }[]> {
  return Promise.all(
    address.hosts.map(async ({ host, port }) => {
      const name = `${host}:${port}`
      try {
        const found = await connectTo(address, { host, port, searchPath: [address.schema] })
        if (found.connection === undefined) return { host: name, state: 'standby', error: '' }
        await found.connection.client.end()
        return { host: name, state: found.isReadOnly ? 'read only' : 'primary', error: '' }
      } catch (error) {
        return { host: name, state: undefined, error: reasonOf(error) }
      }
    }),
  )
}

interface FoundServer extends Pick<HostAttempt<unknown>, 'server'> {
  /** Undefined for a standby. */
  readonly connection: ServerConnection | undefined
  readonly isReadOnly: boolean
}

interface HostState {
  readonly system: string
  readonly timeline: number
  readonly standby: boolean
  readonly read_only: string
  readonly is_spread: boolean
  readonly pid: number
}

async function connectTo(
  address: PostgresAddress,
  {
    host,
    port,
    searchPath,
    isUnlimited = false,
  }: { host: string; port: number; searchPath: readonly string[] } & ConnectOptions,
): Promise<FoundServer> {
  // Loaded here so that processes that do not use PostgreSQL never load the driver.
  const { default: driver } = await import('pg')
  const client = new driver.Client({
    host,
    port,
    user: address.user,
    database: address.database,
    ...(address.password === undefined ? {} : { password: address.password }),
    ssl: tlsOptions(address, host),
    application_name: APPLICATION_NAME,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    ...(isUnlimited ? {} : { query_timeout: address.statementMs + ANSWER_GRACE_MS }),
    pipeline: true,
    types: { getTypeParser: numbersIn(driver.types) },
    options: [
      `search_path=${searchPath.join(',')}`,
      `statement_timeout=${isUnlimited ? 0 : address.statementMs}`,
      `idle_in_transaction_session_timeout=${isUnlimited ? 0 : IDLE_IN_TRANSACTION_MS}`,
      `plan_cache_mode=${planMode(address, searchPath, isUnlimited)}`,
      // A list is an index range in order, cut by a limit; a bitmap would first read all of it.
      'enable_bitmapscan=off',
      // Compiling takes longer than any of our statements, and a table without statistics looks expensive enough for
      // it.
      'jit=off',
      'timezone=UTC',
    ]
      .map((setting) => `-c ${setting}`)
      .join(' '),
  })
  let isBroken = false
  const broken = () => {
    isBroken = true
  }
  client.on('error', broken)
  client.on('end', broken)
  let writes = 0
  let isUnconfirmed = false
  client.on('notice', ({ routine }) => {
    // The routine is compared because the text is in the server's language.
    if (routine === SYNCHRONOUS_WAIT) isUnconfirmed = true
  })
  try {
    await client.connect()
    // A server that accepts the connection and never answers counts as unreachable; the types lack this option.
    const question = {
      query_timeout: CONNECT_MS,
      text: `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') AS read_only,
        to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS is_spread, pg_backend_pid() AS pid,
        (SELECT system_identifier::text FROM pg_control_system()) AS system,
        CASE WHEN pg_is_in_recovery() THEN ${TIMELINE_OF_STANDBY} ELSE ${TIMELINE} END AS timeline,
        CASE WHEN NOT pg_is_in_recovery() THEN set_config('tapeline.number_base', (${NUMBER_BASE})::text, false) END`,
    }
    const answer = await client.query<HostState>(question)
    const state = answer.rows[0]
    if (state === undefined) throw new Error('it does not say what it is')
    const server = { system: state.system, timeline: state.timeline }
    // A standby may lack data that was already served.
    if (state.standby) {
      await client.end()
      return { connection: undefined, isReadOnly: true, server }
    }
    const queryOf = describedOnce(driver.Query)
    const connection: ServerConnection = {
      client,
      ask: (statement, values) =>
        new Promise((resolve, reject) => {
          client.query(
            queryOf(statement, values, (error, result) => (error ? reject(error) : resolve(result))),
          )
        }),
      id: randomUUID(),
      pid: state.pid,
      isSpread: state.is_spread,
      isBroken: () => isBroken,
      abandon() {
        broken()
        streamOf(client).destroy()
      },
      nextWrite: () => ++writes,
      takeUnconfirmed() {
        const was = isUnconfirmed
        isUnconfirmed = false
        return was
      },
      together: <R>(send: () => R) => inOnePiece(client, send),
    }
    return { connection, isReadOnly: state.read_only === 'on', server }
  } catch (error) {
    client.end().catch(() => {})
    throw error
  }
}

/**
 * Planning a page takes longer than reading it, so the server keeps the plan unless a new one would be cheaper. What
 * the shared schema has is always found by key; but a new plan for a short array looks cheaper than the kept one, so
 * charges and shared counts would be planned each time, which takes longer than writing them. A connection without
 * limits is that of a command, which works on the tables of environments too: Citus cannot keep a plan that writes many
 * rows to those.
 */
function planMode({ schema }: PostgresAddress, [first]: readonly string[], isUnlimited: boolean): string {
  return first === schema && !isUnlimited ? 'force_generic_plan' : 'auto'
}

/** The driver's types do not declare the stream. */
function streamOf(client: Client): Writable {
  return (client as unknown as { connection: { stream: Writable } }).connection.stream
}

/** Corks the stream, as the driver does for the parts of one statement. */
function inOnePiece<R>(client: Client, send: () => R): R {
  const stream = streamOf(client)
  stream.cork()
  try {
    return send()
  } finally {
    stream.uncork()
  }
}

/** Every SQLSTATE contains a digit, unlike `EPIPE`. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/
/**
 * SQLSTATE classes after which a retry may succeed: connection, rollback, resources, operator intervention, system; and
 * a transaction that was ended because it took too long.
 */
const UNAVAILABLE = /^(?:08|40|53|57|58|25P0[34])/
/** Errors after which the connection is unusable. */
const BROKEN = /^(?:08|57P|58|25P0[34])/
const READ_ONLY = '25006'
const DISK_FULL = '53100'
const FAILED_TRANSACTION = '25P02'
const UNDEFINED_TABLE = '42P01'

/** Converts an error for callers: `StoreUnavailableError` if the server, not the statement, is the reason. */
export function storeError(error: unknown): Error {
  const { code } = error as { code?: unknown }
  if (error instanceof Error && typeof code === 'string' && SQLSTATE.test(code)) {
    if (code === READ_ONLY || code === DISK_FULL)
      return new WritesRefusedError(`PostgreSQL accepts no writes now: ${error.message}`, { cause: error })
    return UNAVAILABLE.test(code)
      ? new StoreUnavailableError(`PostgreSQL: ${error.message}`, { cause: error })
      : error
  }
  return isConnectionError(error)
    ? new StoreUnavailableError(`The connection to PostgreSQL failed: ${reasonOf(error)}`, { cause: error })
    : (error as Error)
}

/** Whether the error only reports that an earlier statement of the transaction failed. */
export function isOfFailedTransaction(error: unknown): boolean {
  return (error as { code?: unknown }).code === FAILED_TRANSACTION
}

/** Whether a table that the statement names does not exist. */
export function isOfMissingTable(error: unknown): boolean {
  return (error as { code?: unknown }).code === UNDEFINED_TABLE
}

/** Whether the server accepts no writes; another host may, and the next connection looks for it. */
export function isOfReadOnlyServer(error: unknown): boolean {
  return (error as { code?: unknown }).code === READ_ONLY
}

export function breaksConnection(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return (typeof code === 'string' && BROKEN.test(code)) || isConnectionError(error)
}

function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  // A SQLSTATE means that the server itself answered.
  if (typeof code === 'string' && SQLSTATE.test(code)) return false
  return (
    typeof code === 'string' ||
    /connection (?:terminated|ended)|client (?:has encountered|was closed)|timeout|not queryable/i.test(
      error.message,
    )
  )
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string }
  return message === undefined || message === '' ? (code ?? String(error)) : message
}
