/** What follows from copied rows, in the schema of an environment. */
import type { Client } from 'pg'
import { DATASETS } from '../../core/feed.ts'
import { seriesTable } from './partitions.ts'

export async function deriveTables(client: Client): Promise<void> {
  const bounds = DATASETS.map(
    (dataset) =>
      `WHEN '${dataset}' THEN (SELECT f(ts) FROM ${seriesTable(dataset)} WHERE feed_id = feeds.id)`,
  ).join(' ')
  const rowBound = (name: string) => `CASE dataset ${bounds.replaceAll('f(ts)', `${name}(ts)`)} END`
  await client.query(
    `UPDATE feeds SET
      first_ts = least(${rowBound('min')}, (SELECT min(first_ts) FROM book_groups WHERE feed_id = feeds.id AND rows > 0),
        (SELECT min(tail_first) FROM book_groups WHERE feed_id = feeds.id AND tail_rows > 0)),
      last_ts = greatest(${rowBound('max')}, (SELECT max(last_ts) FROM book_groups WHERE feed_id = feeds.id AND rows > 0),
        (SELECT max(tail_last) FROM book_groups WHERE feed_id = feeds.id AND tail_rows > 0)),
      observed_from = (SELECT min(from_ts) FROM coverage_spans WHERE feed_id = feeds.id AND state = 'observed'),
      covered_to = coalesce((SELECT max(to_ts) FROM coverage_spans WHERE feed_id = feeds.id), 0)`,
  )
  await client.query('UPDATE chain_state SET oldest_seq = (SELECT min(seq) FROM events)')
  for (const table of ['feeds', 'job_payloads'])
    await client.query(
      `SELECT setval(pg_get_serial_sequence($1, 'id'), greatest((SELECT max(id) FROM ${table}), 1),
        EXISTS (SELECT FROM ${table}))`,
      [table],
    )
}
