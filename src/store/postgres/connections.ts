/** The connections of a thread to one schema: bounded in number, and in how many callers may wait for one. */

import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { runAfter, systemClock } from '../../kit/clock.ts'
import { StoreClosedError } from '../environment.ts'
import type { PostgresAddress } from './address.ts'
import { connect, type ServerConnection } from './connection.ts'

const MAX_WAITING = 10_000
/** Of a wait, no more than this counts between two turns of the thread. */
const TURN_MS = 250
/** One that nobody used for that long is closed. */
const IDLE_MS = 60_000

interface Waiter {
  resolve(connection: ServerConnection): void
  reject(error: Error): void
}

export interface Connections {
  /** Rejects when none is free for that long. */
  take(maxWaitMs: number): Promise<ServerConnection>
  /**
   * `broken`: it is closed, and the idle ones are closed too: they lead to the same server. `stale`: it leads to a
   * server that refuses writes; where the address names others, one of them may accept them.
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
        // While there is another one, it will be given back.
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
 * Time in which the thread had no turn does not count: connections look busy to it while their answers lie unread. A timer is
 * looked at before what has arrived, so at the end that is read first.
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
