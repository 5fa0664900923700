/**
 * Where commits wait for a synchronous standby that is gone, they wait without end: each would keep a connection, and what
 * it wrote could be lost in a failover. So writes are refused then, and reads go on.
 *
 *   open ──a commit is seen to wait for a standby, or its wait was cancelled──▶ closed
 *    ▲                                                                            │
 *    └────────────────a write of nothing is confirmed──────────────────────────────┘
 *
 * A commit that waits when the gate closes is given up: whether it was done is found out when the gate is open again
 * (commit-outcome.ts).
 */
import { WritesRefusedError } from '../../core/store-unavailable.ts'
import { systemClock } from '../../kit/clock.ts'
import type { PostgresAddress } from './address.ts'
import { writeNothing } from './commit-outcome.ts'
import { connect, type ServerConnection } from './connection.ts'

/** A commit that takes longer is looked at; on a busy server that is no fault yet. */
const SLOW_MS = 2_000
const LOOK_EVERY_MS = 1_000
/** For so long a write of nothing is waited for, before another connection, perhaps to another host, is tried. */
const CONFIRM_MS = 10_000
const TRY_AGAIN_MS = 500

const WAITING = `SELECT 1 FROM pg_stat_activity WHERE pid = ANY ($1::int[]) AND wait_event = 'SyncRep' LIMIT 1`

export interface CommitGate {
  /** WritesRefusedError while it is closed. */
  check(): void
  /** The answer of a commit that was just sent; WritesRefusedError when it is not waited for any more. */
  answer<R>(connection: ServerConnection, answer: Promise<R>): Promise<R>
  /** A commit was answered although its standby does not have it. */
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
      // A server that does not answer is noticed by whoever waits for it.
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

/** On a connection of its own: those that others wait for are for reads. */
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
    // The process that serves it would wait on.
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
