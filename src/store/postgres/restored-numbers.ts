/**
 * After `tapeline restore`, the first process that opens the tables of the restored server continues the numbers of
 * events and deliveries above those that can have been assigned since the backup. It records this in the comment of the
 * table, in the same transaction.
 */
import type { Client } from 'pg'
import { numbersWithin } from '../backup/numbers-within.ts'
import { RESTORED_FROM } from './restore.ts'

interface Numbered {
  readonly table: string
  continueAbove(client: Client, table: string, above: number): Promise<unknown>
}

const NUMBERED: Record<string, Numbered> = {
  chain: {
    table: 'chain_state',
    continueAbove: (client, table, above) =>
      client.query(`UPDATE ${table} SET newest_seq = newest_seq + $1`, [above]),
  },
  jobs: {
    table: 'jobs',
    async continueAbove(client, table, above) {
      const { rows } = await client.query<{ name: string }>(
        `SELECT pg_get_serial_sequence($1, 'number') AS name`,
        [table],
      )
      const [found] = rows
      if (found !== undefined)
        await client.query(`SELECT setval($1, (SELECT last_value FROM ${found.name}) + $2)`, [
          found.name,
          above,
        ])
    },
  },
}
/** An arbitrary lock key, the same for all processes of all releases. */
const LOCK = 0x5450_4c52

export async function continueNumbers(
  client: Client,
  { schema, label }: { schema: string; label: string },
): Promise<void> {
  const numbered = NUMBERED[label]
  if (numbered === undefined) return
  const table = `${schema}.${numbered.table}`
  const note = async () => {
    const { rows } = await client.query<{ from: string | null; noted: string | null; now: string }>(
      `SELECT nullif(current_setting('${RESTORED_FROM}', true), '') AS from,
        obj_description(to_regclass($1), 'pg_class') AS noted,
        floor(extract(epoch FROM clock_timestamp()) * 1000)::text AS now`,
      [table],
    )
    const { from, noted, now } = rows[0] ?? {}
    const wanted = `numbers go on after the restore from ${from}`
    const [, takenAtMs] = /^(\d{1,15})(?:\.\d{1,15})?$/.exec(from ?? '') ?? []
    const isDone = takenAtMs === undefined || noted === wanted
    return isDone ? undefined : { wanted, elapsedMs: Number(now) - Number(takenAtMs) }
  }
  if ((await note()) === undefined) return
  await client.query('BEGIN')
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
    const todo = await note()
    if (todo !== undefined) {
      await numbered.continueAbove(client, table, numbersWithin(todo.elapsedMs))
      await client.query(`COMMENT ON TABLE ${table} IS '${todo.wanted}'`)
    }
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}
