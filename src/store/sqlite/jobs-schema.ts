import type { Migration } from './migrate.ts'

export const JOBS_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'subscriptions, delivery jobs, history',
    sql: `
      CREATE TABLE subscriptions (
        id TEXT PRIMARY KEY,
        account_id TEXT NOT NULL,
        key_id TEXT NOT NULL,
        url TEXT NOT NULL,
        kinds TEXT NOT NULL,
        addresses TEXT NOT NULL,
        batch INTEGER NOT NULL,
        active INTEGER NOT NULL,
        disabled_reason TEXT,
        disabled_at INTEGER,
        created_at INTEGER NOT NULL,
        secret TEXT NOT NULL,
        previous_secret TEXT,
        previous_until INTEGER,
        failing_since INTEGER,
        last_success_at INTEGER
      ) STRICT;
      CREATE INDEX subscriptions_by_account ON subscriptions (account_id, created_at);

      CREATE TABLE marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;

      -- The text of an event, once for all jobs that wait for it: a job outlives the event log.
      CREATE TABLE payloads (
        seq INTEGER PRIMARY KEY,
        event_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL
      ) STRICT;

      CREATE TABLE jobs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        subscription_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        due_at INTEGER NOT NULL,
        failures INTEGER NOT NULL DEFAULT 0,
        last_status INTEGER,
        last_error TEXT,
        last_attempt_at INTEGER,
        duration_ms INTEGER
      ) STRICT;
      CREATE INDEX jobs_by_due ON jobs (subscription_id, due_at, number);
      CREATE INDEX jobs_by_seq ON jobs (seq);

      CREATE TABLE history (
        number INTEGER PRIMARY KEY,
        subscription_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        event_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('delivered', 'failed')),
        attempts INTEGER NOT NULL,
        last_status INTEGER,
        last_error TEXT,
        last_attempt_at INTEGER NOT NULL,
        duration_ms INTEGER,
        created_at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX history_by_subscription ON history (subscription_id, number);
    `,
  },
  {
    version: 2,
    name: 'how the last answer began',
    sql: `
      ALTER TABLE jobs ADD COLUMN last_response TEXT;
      ALTER TABLE history ADD COLUMN last_response TEXT;
    `,
  },
  {
    version: 3,
    name: 'texts by themselves: two logs may give one number to two events',
    sql: `
      DROP INDEX jobs_by_seq;
      ALTER TABLE jobs RENAME COLUMN seq TO payload;
      CREATE INDEX jobs_by_payload ON jobs (payload);

      ALTER TABLE payloads RENAME COLUMN seq TO id;
      ALTER TABLE payloads ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
      UPDATE payloads SET seq = id;
      CREATE INDEX payloads_by_seq ON payloads (seq);

      CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    `,
  },
  {
    version: 4,
    name: 'the headers of the last try and of its answer',
    sql: `
      ALTER TABLE jobs ADD COLUMN last_request_head TEXT;
      ALTER TABLE jobs ADD COLUMN last_response_head TEXT;
      ALTER TABLE history ADD COLUMN last_request_head TEXT;
      ALTER TABLE history ADD COLUMN last_response_head TEXT;
    `,
  },
]
