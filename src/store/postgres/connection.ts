/** One connection to the host that accepts writes. The only file that knows the driver. */
import { hostname } from 'node:os'
import type { Writable } from 'node:stream'
import type { Client, types } from 'pg'
import { StoreUnavailableError, WritesRefusedError } from '../../core/store-unavailable.ts'
import { type PostgresAddress, tlsOptions } from './address.ts'
import { findHost } from './find-host.ts'

/** Shows in `pg_stat_activity` which process a connection belongs to. The server cuts longer names. */
const APPLICATION_NAME = `tapeline ${hostname().slice(0, 40)}:${process.pid}`
const CONNECT_MS = 5_000
const KEEP_ALIVE_MS = 5_000
/** A stopped process inside a transaction must not block its successor for longer. */
const IDLE_IN_TRANSACTION_MS = 4_000
/** How much longer than the server's own limit an answer is waited for: then the connection itself hangs. */
const ANSWER_GRACE_MS = 2_000

const INT8 = 20
/** Numbers as numbers: what can be above 2^53 is selected as text. */
const numbersIn = ({ getTypeParser }: typeof types) =>
  ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : getTypeParser(oid, format as 'text')) as typeof getTypeParser

export interface ConnectOptions {
  /** Statements and pauses in a transaction may take any time: for work that an operator has started and waits for. */
  readonly isUnlimited?: boolean
}

export interface ServerConnection {
  readonly client: Client
  /** Tables may lie on several servers (Citus): what one statement or one snapshot reads is not of one moment. */
  readonly isSpread: boolean
  readonly isBroken: () => boolean
  /** What is sent meanwhile leaves in one piece. */
  together<R>(send: () => R): R
}

/**
 * Numbers that one server gave may be given again by the one that took over without the newest writes: those of each
 * timeline are apart. A connection sees one timeline only, so the base is a setting of its session.
 */
const NUMBER_BASE = `('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint - 1 << 32`

export async function connect(
  address: PostgresAddress,
  searchPath: readonly string[],
  options: ConnectOptions = {},
): Promise<ServerConnection> {
  const failures: string[] = []
  const found = await findHost<ServerConnection>(address.hosts, {
    async attempt({ host, port }) {
      try {
        const attempt = await connectTo(address, { host, port, searchPath, ...options })
        if (attempt !== 'standby') return { found: attempt.connection, isWritable: !attempt.isReadOnly }
        failures.push(`${host}:${port} is a standby`)
      } catch (error) {
        failures.push(`${host}:${port}: ${reasonOf(error)}`)
      }
      return undefined
    },
    letGo: ({ client }) => void client.end().catch(() => {}),
  })
  if (found !== undefined) return found
  throw new StoreUnavailableError(`No PostgreSQL server accepts connections (${failures.join('; ')}).`)
}

/** What each host is, without an attempt to find the right one. */
export async function hostStates(
  address: PostgresAddress,
): Promise<{ host: string; state: 'primary' | 'read only' | 'standby' | undefined; error: string }[]> {
  return Promise.all(
    address.hosts.map(async ({ host, port }) => {
      const name = `${host}:${port}`
      try {
        const found = await connectTo(address, { host, port, searchPath: [address.schema] })
        if (found === 'standby') return { host: name, state: found, error: '' }
        await found.connection.client.end()
        return { host: name, state: found.isReadOnly ? 'read only' : 'primary', error: '' }
      } catch (error) {
        return { host: name, state: undefined, error: reasonOf(error) }
      }
    }),
  )
}

async function connectTo(
  address: PostgresAddress,
  {
    host,
    port,
    searchPath,
    isUnlimited = false,
  }: { host: string; port: number; searchPath: readonly string[] } & ConnectOptions,
): Promise<{ connection: ServerConnection; isReadOnly: boolean } | 'standby'> {
  // Who has no such server does without the driver.
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
      // Planning a page takes longer than reading it: the server keeps the plan where it costs no more than a new one.
      'plan_cache_mode=auto',
      // A list is an index range in order, cut by a limit; a bitmap would first read all of it.
      'enable_bitmapscan=off',
      // Compiling takes longer than any of our statements, and a table without statistics looks expensive.
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
  try {
    await client.connect()
    // A server that accepts the connection and then says nothing is no server; the types do not know this option.
    const question = {
      query_timeout: CONNECT_MS,
      text: `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') AS read_only,
        to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS is_spread,
        CASE WHEN NOT pg_is_in_recovery() THEN set_config('tapeline.number_base', (${NUMBER_BASE})::text, false) END`,
    }
    const answer = await client.query<{ standby: boolean; read_only: string; is_spread: boolean }>(question)
    const state = answer.rows[0]
    // What a standby has may be older than what was served already.
    if (state?.standby !== false) {
      await client.end()
      return 'standby'
    }
    const connection = {
      client,
      isSpread: state.is_spread,
      isBroken: () => isBroken,
      together: <R>(send: () => R) => inOnePiece(client, send),
    }
    return { connection, isReadOnly: state.read_only === 'on' }
  } catch (error) {
    client.end().catch(() => {})
    throw error
  }
}

/** The types do not know the stream, which the driver holds back in the same way for the parts of one statement. */
function inOnePiece<R>(client: Client, send: () => R): R {
  const { stream } = (client as unknown as { connection: { stream: Writable } }).connection
  stream.cork()
  try {
    return send()
  } finally {
    stream.uncork()
  }
}

/** `EPIPE` looks like one too, but all of them contain a digit. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/
/** Classes of SQLSTATE after which another try may succeed: connection, resources, operator, system. */
const UNAVAILABLE = /^(?:08|53|57|58)/
/** The connection is of no use any more. */
const BROKEN = /^(?:08|57P|58)/
const READ_ONLY = '25006'
const DISK_FULL = '53100'
const FAILED_TRANSACTION = '25P02'

/** What callers see of an error: `StoreUnavailableError` where the server, not the statement, is the reason. */
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

/** An earlier statement of the transaction is the reason. */
export function isOfFailedTransaction(error: unknown): boolean {
  return (error as { code?: unknown }).code === FAILED_TRANSACTION
}

/** Another host may accept writes: the next connection looks for it. */
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
  // With a SQLSTATE the server itself has answered.
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
