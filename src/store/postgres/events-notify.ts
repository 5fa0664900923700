/** Notifies readers in other processes of new events at once. A message can be lost, so readers also poll. */
import type { PostgresAddress } from './address.ts'
import { type Database, statement } from './database.ts'
import { listen } from './listen.ts'

const NOTIFY = statement('events_notify', 'SELECT pg_notify($1, $2)')

/**
 * Sends the newest number, one message at a time; events written meanwhile are covered by the next message. It is not
 * sent inside the write's transaction, where it would make every commit of the server wait for a lock.
 */
export function eventNotifier(database: Database, channel: string): (newestSeq: number) => void {
  let newest = 0
  let sent = 0
  let isSending = false
  const send = async () => {
    while (sent < newest) {
      sent = newest
      // Readers also poll, and the next write reports what is wrong with the server.
      await database.rows(NOTIFY, [channel, String(newest)]).catch(() => {})
    }
    isSending = false
  }
  return (newestSeq) => {
    newest = Math.max(newest, newestSeq)
    if (isSending) return
    isSending = true
    void send()
  }
}

/** Each watcher has its own connection. `close` ends the remaining watchers. */
export function eventWatches(deps: {
  address: PostgresAddress
  channel: string
  newestSeq: () => Promise<number>
}) {
  const { newestSeq, ...listening } = deps
  const watches = new Set<() => Promise<void>>()
  return {
    watch(onGrown: (newestSeq: number) => void): () => void {
      const end = listen({
        ...listening,
        onMessage(message) {
          const seq = Number(message)
          if (Number.isSafeInteger(seq)) onGrown(seq)
        },
        onConnected: () => newestSeq().then(onGrown, () => {}),
      })
      watches.add(end)
      return () => {
        watches.delete(end)
        end().catch(() => {})
      }
    },
    close: async () => void (await Promise.all([...watches].map((end) => end()))),
  }
}
