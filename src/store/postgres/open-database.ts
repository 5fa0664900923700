import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { type Clock, systemClock } from '../../kit/clock.ts'
import { StoreClosedError } from '../environment.ts'
import { type Fence, LeaseLostError } from '../leases.ts'
import type { Migration } from '../migration.ts'
import type { PostgresAddress } from './address.ts'
import { type CommitGate, openCommitGate } from './commit-gate.ts'
import { commitOutcome, noteWrite, type WriteId } from './commit-outcome.ts'
import {
  breaksConnection,
  isOfFailedTransaction,
  isOfReadOnlyServer,
  type ServerConnection,
  storeError,
} from './connection.ts'
import { type Connections, openConnections } from './connections.ts'
import { type Database, type Statement, statement, type WriteTransaction } from './database.ts'
import { migrate } from './migrate.ts'
import { askTogether } from './one-turn.ts'

export interface DatabaseOptions {
  readonly address: PostgresAddress
  /** The schema of its tables: the shared one, or that of an environment (`schemaOf`). */
  readonly schema: string
  /** The label under which the migrations are counted. */
  readonly label: string
  readonly migrations: readonly Migration[]
  /** Time comes from the database unless a test provides a clock, whose time is then set before every statement. */
  readonly clock: Clock
  /** Every write is refused once this lease is no longer held. */
  readonly fence?: Fence | undefined
}

/** How long a call waits for a connection; short, because a caller of the API waits for its answer. */
const MAX_WAIT_MS = 5_000
/** Nobody waits for a leader's work, and a restarted recorder makes many reads on a busy machine. */
const LEADER_WAIT_MS = 30_000

/** A stopped process must not hold back vacuum and the dropping of old tables for longer. */
const READER_IDLE_MS = 30_000

const BEGIN = { text: 'BEGIN' }
/** A reader may pause between its statements while the thread is busy, because unlike a writer it blocks nobody. */
const READER_REST = `SET LOCAL idle_in_transaction_session_timeout = '${READER_IDLE_MS}ms'`
const BEGIN_SNAPSHOT = { text: `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${READER_REST}` }
/** With tables on several servers a snapshot would cover only one of them. */
const BEGIN_READ = { text: `BEGIN READ ONLY; ${READER_REST}` }
const COMMIT = { text: 'COMMIT' }
const ROLLBACK = { text: 'ROLLBACK' }
/** The lock is held until the transaction ends, so nobody can take the lease before it has committed. */
const CHECK_FENCE = statement('fence', 'SELECT 1 FROM leases WHERE part = $1 AND term = $2 FOR KEY SHARE')
/** Changes nothing, but makes the servers of a transaction commit together (distribute.ts). */
const COMMIT_TOGETHER = statement('commit_together', 'DELETE FROM commits WHERE id = 0')
const SET_TIME = statement('set_time', `SELECT set_config('tapeline.now_ms', $1, false)`)

/** The result and id of a write whose commit was sent. */
interface Sent<R> {
  readonly result: R
  readonly id: WriteId
}

/** Connections are shared by all stores of a schema in this thread. */
const shared = new Map<string, { connections: Connections; gate: CommitGate; users: number }>()

export function openDatabase(options: DatabaseOptions): Database {
  const { address, schema, clock, fence } = options
  const searchPath = schema === address.schema ? [schema] : [schema, address.schema]
  const { connections, gate, release } = shareConnections(address, searchPath)
  const pool = {
    gate,
    take: () => connections.take(fence === undefined ? MAX_WAIT_MS : LEADER_WAIT_MS),
    giveBack: connections.giveBack,
  }
  const isReady = readyOnce(() => withConnection(pool, (one) => migrate(one.client, options)))
  let isClosed = false
  let isSpread: boolean | undefined

  const send = (connection: ServerConnection, query: Statement, values?: readonly unknown[]) => {
    if (clock !== systemClock) connection.ask(SET_TIME, [String(clock.now())]).catch(() => {})
    return connection.ask(query, values)
  }
  const on = async <R>(run: (connection: ServerConnection) => Promise<R>): Promise<R> => {
    if (isClosed) throw new StoreClosedError()
    await isReady()
    return withConnection(pool, run)
  }
  const transaction = <R>(
    kind: 'write' | 'snapshot',
    run: (transaction: WriteTransaction) => Promise<R>,
    onCommit: (sent: Sent<R>) => void = () => {},
  ) =>
    on(async (connection) => {
      const { client, isSpread } = connection
      const isWrite = kind === 'write'
      const begin = isWrite ? BEGIN : isSpread ? BEGIN_READ : BEGIN_SNAPSHOT
      const failed: Promise<unknown>[] = []
      const id: WriteId = { connection: connection.id, number: isWrite ? connection.nextWrite() : 0 }
      const start = () => {
        failed.push(client.query(begin))
        if (isWrite) failed.push(...noteWrite(connection, id))
        if (isWrite && fence !== undefined)
          failed.push(
            send(connection, CHECK_FENCE, [fence.part, fence.term]).then(({ rowCount }) => {
              if (rowCount !== 1) throw new LeaseLostError(fence)
            }),
          )
        if (isSpread && isWrite && searchPath.length > 1) failed.push(client.query({ ...COMMIT_TOGETHER }))
        for (const promise of failed) promise.catch(() => {})
      }
      // After one of several concurrent statements has failed, code that awaited another may go on; its statements must
      // not be sent outside the transaction.
      let isOver = false
      /** Later failures only report that the transaction has failed, and one of them may arrive before the first. */
      let firstFailure: unknown
      const sendInside: typeof send = async (...args) => {
        if (isOver) throw new Error('The transaction is over.')
        return send(...args).catch((error) => {
          firstFailure ??= error
          throw error
        })
      }
      try {
        // Statements that need no earlier answer leave together with BEGIN.
        const result = await connection.together(() => {
          start()
          return run({
            isSpread,
            rows: async (query, values) => (await sendInside(connection, query, values)).rows,
            run: async (query, values) => (await sendInside(connection, query, values)).rowCount ?? 0,
          })
        })
        await Promise.all(failed)
        isOver = true
        onCommit({ result, id })
        const answer = client.query(COMMIT)
        const { command } = await (isWrite ? gate.answer(connection, answer) : answer)
        // A statement had failed without an error reaching this point.
        if (command === ROLLBACK.text)
          throw firstFailure ?? new Error('The server has rolled the transaction back.')
        return result
      } catch (error) {
        isOver = true
        // The lost lease explains more than the statement that failed because of it.
        const reason = await Promise.all(failed).then(
          () => (isOfFailedTransaction(error) ? (firstFailure ?? error) : error),
          (first) => (first instanceof LeaseLostError || isOfFailedTransaction(error) ? first : error),
        )
        if (!breaksConnection(error) && !connection.isBroken()) await client.query(ROLLBACK)
        throw reason
      }
    })
  const write = async <R>(run: (transaction: WriteTransaction) => Promise<R>): Promise<R> => {
    let sent: Sent<R> | undefined
    gate.check()
    try {
      return await transaction('write', run, (each) => {
        sent = each
      })
    } catch (error) {
      if (sent === undefined || !(error instanceof StoreUnavailableError)) throw error
      const outcome = await commitOutcome(sent.id, async (look) => {
        gate.check()
        return on(look)
      })
      if (outcome === 'committed') return sent.result
      if (outcome === 'aborted') throw error
      throw new StoreUnavailableError(error.message, { cause: error, mayBeDone: true })
    }
  }

  const shortRows = askTogether((asked) => {
    on(async (connection) => {
      const answers = connection.together(() =>
        asked.map(({ statement, values }) => send(connection, statement, values)),
      )
      for (const [at, answer] of answers.entries())
        answer.then(
          ({ rows }) => asked[at]?.resolve(rows),
          (error) => asked[at]?.reject(storeError(error)),
        )
      const outcomes = await Promise.allSettled(answers)
      // Any of the answers may show that the connection is broken.
      for (const outcome of outcomes)
        if (outcome.status === 'rejected' && breaksConnection(outcome.reason)) throw outcome.reason
    }).catch((error) => {
      // Answered statements are settled already; this tells the others why they were not sent.
      for (const { reject } of asked) reject(error)
    })
  })

  return {
    shortRows,
    rows: (query, values) => on(async (connection) => (await send(connection, query, values)).rows),
    run: (query, values) => write((tx) => tx.run(query, values)),
    write,
    checkWrites: gate.check,
    snapshot: (run) => transaction('snapshot', run),
    isSpread: async () => {
      isSpread ??= await on(async (connection) => connection.isSpread)
      return isSpread
    },
    async close() {
      if (isClosed) return
      isClosed = true
      await release()
    },
  }
}

/** The schema of an environment's tables. */
export function schemaOf({ schema }: PostgresAddress, environment: string): string {
  return `${schema}_${environment}`
}

async function withConnection<R>(
  pool: Pick<Connections, 'giveBack'> & { take(): Promise<ServerConnection>; gate: CommitGate },
  run: (connection: ServerConnection) => Promise<R>,
): Promise<R> {
  const connection = await pool.take()
  let state: 'good' | 'stale' | 'broken' = 'good'
  try {
    connection.takeUnconfirmed()
    const result = await run(connection)
    if (connection.takeUnconfirmed()) throw pool.gate.noteUnconfirmed()
    return result
  } catch (error) {
    state = breaksConnection(error) ? 'broken' : isOfReadOnlyServer(error) ? 'stale' : 'good'
    throw storeError(error)
  } finally {
    pool.giveBack(connection, state)
  }
}

/** Prepares once; after a failure the next caller tries again. */
function readyOnce(prepare: () => Promise<void>): () => Promise<void> {
  let ready: Promise<void> | undefined
  return () => {
    ready ??= prepare().catch((error) => {
      ready = undefined
      throw error
    })
    return ready
  }
}

function shareConnections(address: PostgresAddress, searchPath: readonly string[]) {
  const key = JSON.stringify([address, searchPath])
  const entry = shared.get(key) ?? {
    connections: openConnections(address, searchPath),
    gate: openCommitGate(address, searchPath),
    users: 0,
  }
  shared.set(key, entry)
  entry.users++
  return {
    connections: entry.connections,
    gate: entry.gate,
    async release() {
      entry.users--
      if (entry.users > 0) return
      shared.delete(key)
      entry.gate.end()
      await entry.connections.close()
    },
  }
}
