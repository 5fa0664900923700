import type { Migration } from '../migration.ts'

/** Tables in the shared schema through which processes share state. */
export const COORDINATION_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'shared counts, attempts, secrets, heartbeats',
    sql: `
      -- Empty after a crash and on a promoted standby; every process then writes its counts again.
      CREATE UNLOGGED TABLE shared_counts (
        name text COLLATE "C" NOT NULL,
        window_start bigint NOT NULL,
        holder text COLLATE "C" NOT NULL,
        count bigint NOT NULL,
        until_ms bigint NOT NULL,
        PRIMARY KEY (name, window_start, holder)
      ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
      CREATE INDEX shared_counts_by_end ON shared_counts (until_ms);
      CREATE UNLOGGED TABLE count_holders (
        holder text COLLATE "C" PRIMARY KEY,
        until_ms bigint NOT NULL
      ) WITH (fillfactor = 50);

      CREATE TABLE attempts (
        name text COLLATE "C" PRIMARY KEY,
        count int NOT NULL,
        until_ms bigint NOT NULL
      ) WITH (fillfactor = 70);
      CREATE INDEX attempts_by_end ON attempts (until_ms);

      CREATE TABLE shared_secrets (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);

      CREATE TABLE heartbeats (
        part text COLLATE "C" PRIMARY KEY,
        text text NOT NULL,
        at_ms bigint NOT NULL
      ) WITH (fillfactor = 50);
    `,
  },
]
