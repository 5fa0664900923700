import type { Migration } from '../migration.ts'

/** In the shared schema, before everything else: the clock and the leases that every other table relies on. */
export const SHARED_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'clock and leases',
    sql: `
      -- The clock of all processes. STABLE, so that it can bound an index scan. Tests set the time of a session.
      CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql STABLE AS $$
        SELECT coalesce(
          nullif(current_setting('tapeline.now_ms', true), '')::bigint,
          (extract(epoch FROM statement_timestamp()) * 1000)::bigint)
      $$;
      CREATE TABLE leases (
        part text COLLATE "C" PRIMARY KEY,
        holder text NOT NULL,
        term bigint NOT NULL,
        until_ms bigint NOT NULL
      );
      -- Makes the term a key: a new term waits for the transactions of the old one (FOR KEY SHARE), a renewal does not.
      CREATE UNIQUE INDEX leases_term ON leases (part, term);
      -- Always empty. Where other tables lie on several servers, a transaction that has touched it commits on all of
      -- them or on none (distribute.ts).
      CREATE TABLE commits (id int PRIMARY KEY);
    `,
  },
]
