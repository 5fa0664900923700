import type { Migration } from '../migration.ts'

/** An arbitrary lock key, the same for all processes of all releases. */
const NUMBERS_LOCK = 0x5450_4c4d

/** Created first, in the shared schema: the clock and the leases that every other table relies on. */
export const SHARED_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'clock and leases',
    sql: `
      -- The clock of all processes. STABLE, so that it can limit an index scan. Tests set the time for a session.
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
      -- Always empty. If other tables are on several servers, a transaction that uses this table commits on all of
      -- them or on none (distribute.ts).
      CREATE TABLE commits (id int PRIMARY KEY);
    `,
  },
  {
    version: 2,
    name: 'last writes',
    sql: `
      -- The last write of every connection, recorded in the transaction of that write (commit-outcome.ts).
      CREATE TABLE last_writes (
        connection text COLLATE "C" PRIMARY KEY,
        number bigint NOT NULL,
        at timestamptz NOT NULL
      ) WITH (fillfactor = 50, autovacuum_vacuum_cost_delay = 0);
      -- The next number of a sequence, above all numbers of earlier timelines. A standby that took over may not have
      -- received the last of them, and processes may know them. All sequences share one lock, because it is needed
      -- only once per timeline.
      CREATE FUNCTION next_number(numbers regclass) RETURNS bigint LANGUAGE plpgsql AS $$
      DECLARE
        base bigint := current_setting('tapeline.number_base')::bigint;
        number bigint := nextval(numbers);
      BEGIN
        IF number > base THEN RETURN number; END IF;
        PERFORM pg_advisory_xact_lock(${NUMBERS_LOCK});
        number := nextval(numbers);
        IF number <= base THEN
          PERFORM setval(numbers, base);
          number := nextval(numbers);
        END IF;
        RETURN number;
      END $$;
    `,
  },
]
