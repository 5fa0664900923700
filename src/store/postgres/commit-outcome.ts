/**
 * What became of a transaction whose commit was sent and not answered: the connection or the server was lost in that
 * moment. Every write notes itself in the row of its connection in `last_writes`, within its own transaction:
 *
 *   lost answer ──▶ look at the row, as soon as a server answers ──▶ this number: it is done
 *                                                               ├─▶ another one: it is not, and may be repeated
 *                                                               └─▶ no server answers in time: unknown
 *
 * The number that the server itself gives to a transaction does not serve: after a crash it gives those again whose log
 * had not reached the disk. The look is a write too: it waits for a transaction that is not over yet, and where commits wait
 * for a standby, its own says that the standby has what was found.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import type { ServerConnection } from './connection.ts'
import { statement } from './database.ts'

/** How long a caller waits for it: a server that was killed is there again by then. */
const ASK_MS = 8_000
const ASK_EVERY_MS = 200

const NOTE = statement(
  'last_write_note',
  `INSERT INTO last_writes (connection, number, at) VALUES ($1, $2, now())
   ON CONFLICT (connection) DO UPDATE SET number = excluded.number, at = excluded.at`,
)
/** Where there is no row yet, one that a transaction is writing is waited for. */
const LOOK_UP = statement(
  'last_write_look_up',
  `INSERT INTO last_writes AS w (connection, number, at) VALUES ($1, 0, now())
   ON CONFLICT (connection) DO UPDATE SET at = excluded.at RETURNING w.number`,
)
/** Those of connections that are gone, or have not written for so long: nobody asks for what they wrote any more. */
const PRUNE = statement(
  'last_write_prune',
  `DELETE FROM last_writes WHERE connection IN (
     SELECT connection FROM last_writes WHERE at < now() - interval '1 hour' LIMIT 1000 FOR UPDATE SKIP LOCKED)`,
)

export interface WriteId {
  /** A name that no other connection has. */
  readonly connection: string
  /** Of the writes of this connection, from 1. */
  readonly number: number
}

/** The first statements of the write's transaction. */
export function noteWrite({ client }: ServerConnection, { connection, number }: WriteId): Promise<unknown>[] {
  const noted = client.query({ ...NOTE, values: [connection, number] })
  // With the first write of a connection, so that rows do not accumulate.
  return number === 1 ? [noted, client.query({ ...PRUNE })] : [noted]
}

/** A write of nothing: whoever waits for its answer knows that the server, and its standby, take writes. */
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
