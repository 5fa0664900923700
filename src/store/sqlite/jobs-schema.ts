import type { Migration } from '../migration.ts'

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
      CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

      -- The text of an event, stored once for all its jobs, because jobs may outlive the event log. Two logs may use
      -- the same number for different events.
      CREATE TABLE payloads (
        id INTEGER PRIMARY KEY,
        seq INTEGER NOT NULL,
        event_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL
      ) STRICT;
      CREATE INDEX payloads_by_seq ON payloads (seq);

      CREATE TABLE jobs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        subscription_id TEXT NOT NULL,
        payload INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        due_at INTEGER NOT NULL,
        failures INTEGER NOT NULL DEFAULT 0,
        last_status INTEGER,
        last_error TEXT,
        last_attempt_at INTEGER,
        duration_ms INTEGER,
        last_response TEXT,
        last_request_head TEXT,
        last_response_head TEXT
      ) STRICT;
      CREATE INDEX jobs_by_due ON jobs (subscription_id, due_at, number);
      CREATE INDEX jobs_by_payload ON jobs (payload);

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
        created_at INTEGER NOT NULL,
        last_response TEXT,
        last_request_head TEXT,
        last_response_head TEXT
      ) STRICT;
      CREATE INDEX history_by_subscription ON history (subscription_id, number);
    `,
  },
  {
    version: 2,
    name: 'pending deliveries of a webhook by number',
    sql: 'CREATE INDEX jobs_by_number ON jobs (subscription_id, number);',
  },
  {
    version: 3,
    name: 'the newest changes of subscriptions',
    sql: `
      CREATE TABLE subscription_changes (
        version INTEGER NOT NULL,
        id TEXT NOT NULL,
        PRIMARY KEY (version, id)
      ) STRICT, WITHOUT ROWID;
    `,
  },
]
