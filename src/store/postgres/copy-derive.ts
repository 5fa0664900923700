/** Derives the bounds of feeds, the oldest event and the next ids of an environment from its copied rows. */
import type { Client } from 'pg'
import type { Dataset } from '../../core/feed.ts'
import { seriesTable } from './partitions.ts'

export async function deriveTables(client: Client): Promise<void> {
  const { rows: feeds } = await client.query<{ id: number; dataset: Dataset }>(
    'SELECT id, dataset FROM feeds',
  )
  // One feed at a time: if rows are on several servers, no statement may join them with the feeds, which are on one.
  for (const { id, dataset } of feeds) await deriveFeed(client, id, seriesTable(dataset))
  await client.query('UPDATE chain_state SET oldest_seq = (SELECT min(seq) FROM events)')
  for (const table of ['feeds', 'job_payloads'])
    await client.query(
      `SELECT setval(pg_get_serial_sequence($1, 'id'), greatest((SELECT max(id) FROM ${table}), 1),
        EXISTS (SELECT 1 FROM ${table}))`,
      [table],
    )
}

async function deriveFeed(client: Client, id: number, table: string): Promise<void> {
  const { rows } = await client.query<Record<string, number | null>>(
    `SELECT least((SELECT min(ts) FROM ${table} WHERE feed_id = $1),
        (SELECT min(first_ts) FROM book_groups WHERE feed_id = $1 AND rows > 0),
        (SELECT min(tail_first) FROM book_groups WHERE feed_id = $1 AND tail_rows > 0)) AS first,
      greatest((SELECT max(ts) FROM ${table} WHERE feed_id = $1),
        (SELECT max(last_ts) FROM book_groups WHERE feed_id = $1 AND rows > 0),
        (SELECT max(tail_last) FROM book_groups WHERE feed_id = $1 AND tail_rows > 0)) AS last,
      (SELECT min(from_ts) FROM coverage_spans WHERE feed_id = $1 AND state = 'observed') AS observed,
      coalesce((SELECT max(to_ts) FROM coverage_spans WHERE feed_id = $1), 0) AS covered`,
    [id],
  )
  const { first, last, observed, covered } = rows[0] ?? {}
  await client.query(
    'UPDATE feeds SET first_ts = $2, last_ts = $3, observed_from = $4, covered_to = $5 WHERE id = $1',
    [id, first, last, observed, covered],
  )
}
