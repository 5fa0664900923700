/**
 * While a synchronous standby is gone, commits wait for it without limit. Each would hold a connection, and its write
 * could be lost in a failover, so writes are refused in that time while reads go on.
 *
 *   open ──a commit is found waiting for a standby, or its wait was cancelled──▶ closed
 *    ▲                                                                             │
 *    └─────────────────────────an empty write is confirmed─────────────────────────┘
 *
 * A commit that is waiting when the gate closes is abandoned; commit-outcome.ts finds out whether it took effect once
 * the gate is open again.
 */
import { WritesRefusedError } from '../../core/store-unavailable.ts'
import { systemClock } from '../../kit/clock.ts'
import type { PostgresAddress } from './address.ts'
import { writeNothing } from './commit-outcome.ts'
import { connect, type ServerConnection } from './connection.ts'

/** A commit that takes longer is examined; on a busy server that is not yet a fault. */
const SLOW_MS = 2_000
const LOOK_EVERY_MS = 1_000
/** How long to wait for an empty write before trying another connection, perhaps to another host. */
const CONFIRM_MS = 10_000
const TRY_AGAIN_MS = 500

const WAITING = `SELECT 1 FROM pg_stat_activity WHERE pid = ANY ($1::int[]) AND wait_event = 'SyncRep' LIMIT 1`

export interface CommitGate {
  /** Throws WritesRefusedError while the gate is closed. */
  check(): void
  /**
   * Waits for the answer to a commit that was just sent; rejects with WritesRefusedError if the gate closes meanwhile.
   */
  answer<R>(connection: ServerConnection, answer: Promise<R>): Promise<R>
  /** Closes the gate, because a commit was answered although its standby does not have it. */
  noteUnconfirmed(): WritesRefusedError
  end(): void
}

export function openCommitGate(address: PostgresAddress, searchPath: readonly string[]): CommitGate {
  const waiting = new Map<ServerConnection, { readonly sinceMs: number; giveUp(): void }>()
  const end = new AbortController()
  let isClosed = false
  let isLooking = false

  const refusal = () =>
    new WritesRefusedError(
      'PostgreSQL accepts no writes now: they are not confirmed by its synchronous standby.',
      {
        mayBeDone: true,
      },
    )
  const close = () => {
    for (const { giveUp } of waiting.values()) giveUp()
    if (isClosed) return
    isClosed = true
    void openAgain()
  }
  const openAgain = async () => {
    while (!end.signal.aborted && isClosed) {
      isClosed = !(await isConfirmed(address, searchPath, end.signal).catch(() => false))
      if (isClosed) await systemClock.sleep(TRY_AGAIN_MS, end.signal).catch(() => {})
    }
  }
  const look = async () => {
    const slow = [...waiting].filter(([, { sinceMs }]) => performance.now() - sinceMs > SLOW_MS)
    if (slow.length === 0 || isLooking) return
    isLooking = true
    try {
      const { client } = await connect(address, searchPath)
      try {
        const { rowCount } = await client.query(WAITING, [slow.map(([{ pid }]) => pid)])
        if (rowCount === 1) close()
      } finally {
        client.end().catch(() => {})
      }
    } catch {
      // Callers that wait for the server notice themselves that it does not answer.
    } finally {
      isLooking = false
    }
  }
  const timer = setInterval(() => void look(), LOOK_EVERY_MS)
  timer.unref()

  return {
    check() {
      if (isClosed) throw new WritesRefusedError(refusal().message)
    },
    answer(connection, answer) {
      return new Promise((resolve, reject) => {
        waiting.set(connection, {
          sinceMs: performance.now(),
          giveUp() {
            connection.abandon()
            reject(refusal())
          },
        })
        answer.finally(() => waiting.delete(connection)).then(resolve, reject)
      })
    },
    noteUnconfirmed() {
      close()
      return refusal()
    },
    end() {
      end.abort()
      clearInterval(timer)
    },
  }
}

/** Uses a separate connection, because the pooled ones are needed for reads. */
async function isConfirmed(
  address: PostgresAddress,
  searchPath: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  const connection = await connect(address, searchPath, { isUnlimited: true })
  const over = new AbortController()
  try {
    const answered = writeNothing(connection).then(() => !connection.takeUnconfirmed())
    const late = systemClock.sleep(CONFIRM_MS, AbortSignal.any([signal, over.signal]))
    const confirmed = await Promise.race([answered, late.catch(() => {})])
    if (confirmed !== undefined) return confirmed
    answered.catch(() => {})
    // The server process would otherwise keep waiting for the standby.
    const { client } = await connect(address, searchPath)
    try {
      await client.query('SELECT pg_cancel_backend($1::int)', [connection.pid])
    } finally {
      client.end().catch(() => {})
    }
    return false
  } finally {
    over.abort()
    connection.abandon()
  }
}
