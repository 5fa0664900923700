/**
 * What became of a transaction whose commit was sent and not answered: the connection or the server was lost in that
 * moment. The server knows the state of a transaction by its number.
 *
 *   lost answer ──▶ ask, as soon as a server answers ──▶ committed: it is done │ aborted: it is not, and may be repeated
 *                                                    └─▶ another server has taken over, or none answers: unknown
 */
import { setTimeout as wait } from 'node:timers/promises'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import type { ServerConnection } from './connection.ts'

/** How long a caller waits for it: a server that was killed is there again by then. */
const ASK_MS = 8_000
const ASK_EVERY_MS = 200

/** Numbers of another timeline may have been given again. */
export const TRANSACTION = {
  name: 'transaction',
  text: `SELECT pg_current_xact_id()::text AS id, current_setting('tapeline.number_base', true) AS timeline`,
}
const STATUS = {
  name: 'transaction_status',
  text: `SELECT pg_xact_status($1::text::xid8) AS status, current_setting('tapeline.number_base', true) AS timeline`,
}

export interface TransactionId {
  readonly id: string
  readonly timeline: string
}

export async function commitOutcome(
  { id, timeline }: TransactionId,
  withConnection: <R>(run: (connection: ServerConnection) => Promise<R>) => Promise<R>,
): Promise<'committed' | 'aborted' | 'unknown'> {
  const endsAt = performance.now() + ASK_MS
  for (;;) {
    try {
      const found = await withConnection(async ({ client }) => {
        const { rows } = await client.query<{ status: string | null; timeline: string }>({
          ...STATUS,
          values: [id],
        })
        return rows[0]
      })
      if (found?.status === 'aborted') return 'aborted'
      if (found?.timeline !== timeline) return 'unknown'
      if (found.status === 'committed') return 'committed'
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) return 'unknown'
    }
    if (performance.now() > endsAt) return 'unknown'
    await wait(ASK_EVERY_MS)
  }
}
