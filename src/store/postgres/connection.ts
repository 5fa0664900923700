/** One connection to the host that accepts writes. The only file that knows the driver. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Writable } from 'node:stream'
import type { Client, types } from 'pg'
import { StoreUnavailableError, WritesRefusedError } from '../../core/store-unavailable.ts'
import { type PostgresAddress, tlsOptions } from './address.ts'
import { findHost, type HostAttempt } from './find-host.ts'

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
  /** A name that no other connection has. */
  readonly id: string
  /** Of the process that serves it. */
  readonly pid: number
  /** Tables may lie on several servers (Citus): what one statement or one snapshot reads is not of one moment. */
  readonly isSpread: boolean
  readonly isBroken: () => boolean
  /** An answer is not waited for any more: nothing else can be sent on it. */
  abandon(): void
  /** Numbers its writes, from 1. */
  nextWrite(): number
  /** Whether a commit was answered since the last call although its wait for a standby was cancelled. */
  takeUnconfirmed(): boolean
  /** What is sent meanwhile leaves in one piece. */
  together<R>(send: () => R): R
}

/** The function of the server that waits for a synchronous standby: it warns when it does not wait any longer. */
const SYNCHRONOUS_WAIT = 'SyncRepWaitForLSN'

/**
 * Numbers that one server gave may be given again by the one that took over without the newest writes: those of each
 * timeline are apart. A connection sees one timeline only, so the base is a setting of its session.
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

/** What each host is, without an attempt to find the right one. */
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
  /** Undefined: a standby. */
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
  let writes = 0
  let isUnconfirmed = false
  client.on('notice', ({ routine }) => {
    // The text would be in the language of the server.
    if (routine === SYNCHRONOUS_WAIT) isUnconfirmed = true
  })
  try {
    await client.connect()
    // A server that accepts the connection and then says nothing is no server; the types do not know this option.
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
    // What a standby has may be older than what was served already.
    if (state.standby) {
      await client.end()
      return { connection: undefined, isReadOnly: true, server }
    }
    const connection: ServerConnection = {
      client,
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

/** The types do not know it. */
function streamOf(client: Client): Writable {
  return (client as unknown as { connection: { stream: Writable } }).connection.stream
}

/** As the driver does with the parts of one statement. */
function inOnePiece<R>(client: Client, send: () => R): R {
  const stream = streamOf(client)
  stream.cork()
  try {
    return send()
  } finally {
    stream.uncork()
  }
}

/** `EPIPE` looks like one too, but all of them contain a digit. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/
/**
 * Classes of SQLSTATE after which another try may succeed: connection, deadlock, resources, operator, system; and a
 * transaction that was ended because it took too long.
 */
const UNAVAILABLE = /^(?:08|40|53|57|58|25P0[34])/
/** The connection is of no use any more. */
const BROKEN = /^(?:08|57P|58|25P0[34])/
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
