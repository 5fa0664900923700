/**
 * Group commit: all waiting calls go into one transaction, each in its own savepoint, so that a failing one is undone
 * alone. Replies are sent after the commit, so an acknowledged write is committed.
 */
import type { DatabaseSync } from 'node:sqlite'
import {
  refusalOf,
  replyTo,
  revive,
  serveCallGroups,
  type ThreadCall,
  type ThreadCalls,
  type ThreadReply,
} from '../../kit/thread-calls.ts'
import { turnTimeMs } from '../../kit/turns.ts'
import { inTransaction } from './open.ts'

// biome-ignore lint/suspicious/noExplicitAny: the arguments are known by name only.
export type Operations = Record<string, (...args: any[]) => unknown>

export interface Writes<Ops extends Operations> {
  /** Each runs inside a transaction that is begun and committed here. */
  readonly operations: Ops
  /** Called after a rollback, because cached state of the file may be wrong. */
  forget?(): void
}

/** A group is closed at this many operations or after this time, so that the write lock is never held long. */
const MAX_GROUP = 256
const MAX_GROUP_MS = 50

/** The body of a writer thread. */
export function serveWrites<Ops extends Operations>(database: DatabaseSync, writes: Writes<Ops>): void {
  serveCallGroups(
    (first, next) => commitGroup(database, writes, first, next),
    () => database.close(),
  )
}

/** Answers every call that it has taken, even if the transaction cannot begin. */
export function commitGroup<Ops extends Operations>(
  database: DatabaseSync,
  writes: Writes<Ops>,
  first: ThreadCall,
  next: () => ThreadCall | undefined,
): ThreadReply[] {
  const group: ThreadCall[] = [first]
  const endsAt = turnTimeMs() + MAX_GROUP_MS
  const hasRoom = () => group.length < MAX_GROUP && turnTimeMs() < endsAt
  try {
    return inTransaction(database, () => {
      const replies = [replyAlone(database, writes, first)]
      while (hasRoom()) {
        const call = next()
        if (call === undefined) break
        group.push(call)
        replies.push(replyAlone(database, writes, call))
      }
      return replies
    })
  } catch (error) {
    writes.forget?.()
    return group.map(({ id }) => refusalOf(id, error))
  }
}

function replyAlone<Ops extends Operations>(
  database: DatabaseSync,
  { operations, forget }: Writes<Ops>,
  call: ThreadCall,
): ThreadReply {
  database.exec('SAVEPOINT one')
  const reply = replyTo(operations, call)
  if ('error' in reply) {
    // A full disk rolls back the whole transaction at once: no savepoint is left, and no write of the group is done.
    if (!database.isTransaction) throw revive(reply.error)
    database.exec('ROLLBACK TO one')
    forget?.()
  }
  database.exec('RELEASE one')
  return reply
}

/** Where writes go: to a writer thread, or to a connection of the calling thread. */
export type Writer<Ops extends Operations> = Pick<ThreadCalls<Ops>, 'call' | 'ready' | 'probe' | 'close'>

/** Writes on the calling thread: each call is one transaction, which is committed when the call returns. */
export function inlineWriter<Ops extends Operations>(
  database: DatabaseSync,
  { operations, forget }: Writes<Ops>,
  close = () => {},
): Writer<Ops> {
  return {
    async call(operation, args) {
      const run = operations[operation] as (...args: unknown[]) => never
      try {
        return inTransaction(database, () => run(...args))
      } catch (error) {
        forget?.()
        throw error
      }
    },
    async ready() {},
    probe() {},
    async close() {
      close()
    },
  }
}
