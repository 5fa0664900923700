/** The connections of a thread to one schema. Both the connections and the callers that wait for one are bounded. */

import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { runAfter, systemClock } from '../../kit/clock.ts'
import { StoreClosedError } from '../environment.ts'
import type { PostgresAddress } from './address.ts'
import { connect, type ServerConnection } from './connection.ts'

const MAX_WAITING = 10_000
/** At most this much of a wait counts between two turns of the thread. */
const TURN_MS = 250
/** A connection that is unused for this long is closed. */
const IDLE_MS = 60_000

interface Waiter {
  resolve(connection: ServerConnection): void
  reject(error: Error): void
}

export interface Connections {
  /** Rejects if no connection becomes free in this time. */
  take(maxWaitMs: number): Promise<ServerConnection>
  /**
   * `broken` closes the connection and all idle ones, because they lead to the same server. `stale` marks a connection
   * to a server that refuses writes; it is closed if the address names other hosts, one of which may accept writes.
   */
  giveBack(connection: ServerConnection, state: 'good' | 'stale' | 'broken'): void
  close(): Promise<void>
}

export function openConnections(address: PostgresAddress, searchPath: readonly string[]): Connections {
  const idle: { connection: ServerConnection; sinceMs: number }[] = []
  const waiting = new Set<Waiter>()
  let open = 0
  let isClosed = false
  let whenEmpty: (() => void) | undefined

  const end = (connection: ServerConnection) => {
    open--
    connection.client.end().catch(() => {})
    if (open === 0) whenEmpty?.()
  }
  const closeIdle = (olderThanMs: number) => {
    while (idle[0] !== undefined && idle[0].sinceMs <= olderThanMs) {
      const oldest = idle.shift()
      if (oldest !== undefined) end(oldest.connection)
    }
  }
  const sweep = setInterval(() => closeIdle(performance.now() - IDLE_MS), IDLE_MS / 2)
  sweep.unref()

  const grow = () => {
    open++
    connect(address, searchPath).then(
      (connection) => give(connection),
      (error: Error) => {
        open--
        // Another open connection will be given back to the waiting callers.
        if (open > 0) return
        for (const waiter of waiting) waiter.reject(error)
        whenEmpty?.()
      },
    )
  }
  const give = (connection: ServerConnection) => {
    if (isClosed) return end(connection)
    const [next] = waiting
    if (next === undefined) idle.push({ connection, sinceMs: performance.now() })
    else next.resolve(connection)
  }

  return {
    take(maxWaitMs) {
      if (isClosed) return Promise.reject(new StoreClosedError())
      for (let ready = idle.pop(); ready !== undefined; ready = idle.pop()) {
        if (!ready.connection.isBroken()) return Promise.resolve(ready.connection)
        end(ready.connection)
      }
      if (waiting.size >= MAX_WAITING)
        return Promise.reject(
          new StoreUnavailableError('Too many calls wait for a connection to PostgreSQL.'),
        )
      return new Promise((resolve, reject) => {
        const settle =
          <A>(then: (value: A) => void) =>
          (value: A) => {
            waiting.delete(waiter)
            cancel()
            then(value)
          }
        const waiter: Waiter = { resolve: settle(resolve), reject: settle(reject) }
        const cancel = afterTurns(maxWaitMs, () =>
          waiter.reject(new StoreUnavailableError('All connections to PostgreSQL are busy.')),
        )
        waiting.add(waiter)
        if (open < address.poolSize) grow()
      })
    },
    giveBack(connection, state) {
      const isBroken = state === 'broken' || connection.isBroken()
      const isLeft = state === 'stale' && address.hosts.length > 1
      if (!isBroken && !isLeft) return give(connection)
      end(connection)
      if (isBroken) closeIdle(Number.POSITIVE_INFINITY)
      if (waiting.size > 0 && open < address.poolSize) grow()
    },
    async close() {
      isClosed = true
      clearInterval(sweep)
      for (const waiter of waiting) waiter.reject(new StoreClosedError())
      closeIdle(Number.POSITIVE_INFINITY)
      if (open > 0)
        await new Promise<void>((resolve) => {
          whenEmpty = resolve
        })
    },
  }
}

/**
 * Time in which the thread had no turn does not count, because connections look busy while their answers lie unread.
 * Timers fire before arrived data is read, so at the end that data is read before `run`.
 */
export function afterTurns(ms: number, run: () => void): () => void {
  let leftMs = ms
  let isCancelled = false
  let cancel = () => {}
  const next = () => {
    const turnMs = Math.min(leftMs, TURN_MS)
    cancel = runAfter(systemClock, turnMs, () => {
      leftMs -= turnMs
      if (leftMs > 0) next()
      else setImmediate(() => isCancelled || run())
    })
  }
  next()
  return () => {
    isCancelled = true
    cancel()
  }
}
