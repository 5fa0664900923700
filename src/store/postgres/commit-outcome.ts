/**
 * Finds out what became of a transaction whose commit was sent but not answered, because the connection or the server
 * was lost. Every write records its number in its connection's row of `last_writes`, within its own transaction:
 *
 *   lost answer ──▶ read the row, as soon as a server answers ──▶ this number: it was committed
 *                                                             ├─▶ another number: it was not, and may be repeated
 *                                                             └─▶ no server answers in time: unknown
 *
 * The server's own transaction ids cannot be used, because after a crash it reassigns those whose log had not reached
 * the disk. The lookup is a write as well: it waits for a transaction that is still running, and where commits wait for
 * a standby, its own commit shows that the standby has what was found.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import type { ServerConnection } from './connection.ts'
import { statement } from './database.ts'

/** How long a caller waits for the outcome; a server that was killed is back by then. */
const ASK_MS = 8_000
const ASK_EVERY_MS = 200

const NOTE = statement(
  'last_write_note',
  `INSERT INTO last_writes (connection, number, at) VALUES ($1, $2, now())
   ON CONFLICT (connection) DO UPDATE SET number = excluded.number, at = excluded.at`,
)
/** If there is no row yet, the insert waits for a transaction that is writing one. */
const LOOK_UP = statement(
  'last_write_look_up',
  `INSERT INTO last_writes AS w (connection, number, at) VALUES ($1, 0, now())
   ON CONFLICT (connection) DO UPDATE SET at = excluded.at RETURNING w.number`,
)
/**
 * Deletes rows of connections that are gone or have not written for an hour; nobody asks about their writes any more.
 */
const PRUNE = statement(
  'last_write_prune',
  `DELETE FROM last_writes WHERE connection IN (
     SELECT connection FROM last_writes WHERE at < now() - interval '1 hour' LIMIT 1000 FOR UPDATE SKIP LOCKED)`,
)

export interface WriteId {
  /** Unique to this connection. */
  readonly connection: string
  /** Counts the writes of this connection, from 1. */
  readonly number: number
}

/** The first statements of the write's transaction. */
export function noteWrite({ client }: ServerConnection, { connection, number }: WriteId): Promise<unknown>[] {
  const noted = client.query({ ...NOTE, values: [connection, number] })
  // Prunes with the first write of a connection, so that rows do not accumulate.
  return number === 1 ? [noted, client.query({ ...PRUNE })] : [noted]
}

/** An empty write. Its answer shows that the server and its standby accept writes. */
export async function writeNothing({ client, id }: ServerConnection): Promise<void> {
  await client.query({ ...LOOK_UP, values: [id] })
}

export async function commitOutcome(
  { connection, number }: WriteId,
  withConnection: <R>(run: (connection: ServerConnection) => Promise<R>) => Promise<R>,
): Promise<'committed' | 'aborted' | 'unknown'> {
  const endsAt = performance.now() + ASK_MS
  for (;;) {
    try {
      const found = await withConnection(async ({ client }) => {
        const { rows } = await client.query<{ number: number }>({ ...LOOK_UP, values: [connection] })
        return rows[0]?.number
      })
      return found === number ? 'committed' : 'aborted'
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) return 'unknown'
    }
    if (performance.now() > endsAt) return 'unknown'
    await wait(ASK_EVERY_MS)
  }
}
