import type { Migration } from '../migration.ts'

export const ACCOUNTS_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'accounts, keys, credits, usage, users, billing',
    sql: `
      CREATE TABLE accounts (
        id TEXT PRIMARY KEY,
        email TEXT NOT NULL UNIQUE COLLATE NOCASE,
        plan TEXT NOT NULL,
        billing_day INTEGER NOT NULL CHECK (billing_day BETWEEN 1 AND 31),
        paused_reason TEXT,
        created_at INTEGER NOT NULL
      ) STRICT;

      CREATE TABLE keys (
        id TEXT PRIMARY KEY,
        account_id TEXT NOT NULL REFERENCES accounts(id),
        environment TEXT NOT NULL CHECK (environment IN ('test', 'live')),
        name TEXT NOT NULL,
        hash TEXT NOT NULL UNIQUE,
        hint TEXT NOT NULL,
        scopes TEXT,
        allowed_cidrs TEXT,
        credit_cap INTEGER,
        created_at INTEGER NOT NULL,
        last_used_at INTEGER,
        expires_at INTEGER,
        revoked_at INTEGER,
        replaced_by TEXT
      ) STRICT;
      CREATE INDEX keys_by_account ON keys (account_id);

      CREATE TABLE budgets (
        id TEXT NOT NULL,
        period_start INTEGER NOT NULL,
        credit_limit INTEGER NOT NULL,
        used INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (id, period_start)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE credit_leases (
        budget_id TEXT NOT NULL,
        period_start INTEGER NOT NULL,
        holder TEXT NOT NULL,
        amount INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        PRIMARY KEY (budget_id, period_start, holder)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE credit_lease_wants (
        budget_id TEXT NOT NULL,
        period_start INTEGER NOT NULL,
        holder TEXT NOT NULL,
        until INTEGER NOT NULL,
        PRIMARY KEY (budget_id, period_start, holder)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE ledger (
        id TEXT PRIMARY KEY,
        at INTEGER NOT NULL,
        account_id TEXT NOT NULL,
        environment TEXT NOT NULL,
        key_id TEXT NOT NULL,
        endpoint TEXT NOT NULL,
        credits INTEGER NOT NULL,
        row_count INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX ledger_by_time ON ledger (at);

      CREATE TABLE usage (
        account_id TEXT NOT NULL,
        day TEXT NOT NULL,
        environment TEXT NOT NULL,
        endpoint TEXT NOT NULL,
        key_id TEXT NOT NULL,
        requests INTEGER NOT NULL DEFAULT 0,
        credits INTEGER NOT NULL DEFAULT 0,
        row_count INTEGER NOT NULL DEFAULT 0,
        failed INTEGER NOT NULL DEFAULT 0,
        rate_limited INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (account_id, day, environment, endpoint, key_id)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE idempotency (
        id TEXT PRIMARY KEY,
        body_hash TEXT NOT NULL,
        claimed_until INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        reply TEXT,
        account_id TEXT NOT NULL,
        bytes INTEGER NOT NULL DEFAULT 0
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
      -- Sums, so that a quota can be checked without reading the entries.
      CREATE TABLE idempotency_totals (
        account_id TEXT PRIMARY KEY,
        entries INTEGER NOT NULL,
        bytes INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TRIGGER idempotency_added AFTER INSERT ON idempotency BEGIN
        INSERT INTO idempotency_totals VALUES (new.account_id, 1, new.bytes)
          ON CONFLICT DO UPDATE SET entries = entries + 1, bytes = bytes + excluded.bytes;
      END;
      CREATE TRIGGER idempotency_sized AFTER UPDATE OF bytes ON idempotency BEGIN
        UPDATE idempotency_totals SET bytes = bytes + new.bytes - old.bytes WHERE account_id = new.account_id;
      END;
      CREATE TRIGGER idempotency_removed AFTER DELETE ON idempotency BEGIN
        UPDATE idempotency_totals SET entries = entries - 1, bytes = bytes - old.bytes
          WHERE account_id = old.account_id;
        DELETE FROM idempotency_totals WHERE account_id = old.account_id AND entries <= 0;
      END;

      CREATE TABLE changes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        account_id TEXT NOT NULL
      ) STRICT;

      CREATE TABLE view_allowance (
        account_id TEXT PRIMARY KEY,
        day TEXT NOT NULL,
        used INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE users (
        id TEXT PRIMARY KEY,
        email TEXT NOT NULL UNIQUE COLLATE NOCASE,
        role TEXT NOT NULL CHECK (role IN ('operator', 'customer')),
        account_id TEXT NOT NULL REFERENCES accounts(id),
        password_hash TEXT NOT NULL,
        created_at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX users_by_account ON users (account_id);

      CREATE TABLE sessions (
        hash TEXT PRIMARY KEY,
        user_id TEXT NOT NULL REFERENCES users(id),
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX sessions_by_user ON sessions (user_id);
      CREATE INDEX sessions_by_expiry ON sessions (expires_at);

      CREATE TABLE password_resets (
        hash TEXT PRIMARY KEY,
        user_id TEXT NOT NULL UNIQUE REFERENCES users(id),
        expires_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE invitations (
        hash TEXT PRIMARY KEY,
        role TEXT NOT NULL,
        account_id TEXT
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE audit (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        actor TEXT NOT NULL,
        action TEXT NOT NULL,
        account_id TEXT,
        detail TEXT NOT NULL
      ) STRICT;
      CREATE INDEX audit_by_account ON audit (account_id, seq);

      CREATE TABLE billing_links (
        customer TEXT PRIMARY KEY,
        account_id TEXT NOT NULL REFERENCES accounts(id),
        last_event_at INTEGER NOT NULL,
        subscription TEXT NOT NULL,
        status TEXT NOT NULL,
        linked_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX billing_by_account ON billing_links (account_id);

      CREATE TABLE billing_events (id TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    `,
  },
  {
    version: 2,
    name: 'leases',
    sql: `
      CREATE TABLE leases (
        part TEXT PRIMARY KEY,
        holder TEXT NOT NULL,
        term INTEGER NOT NULL,
        until INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
    `,
  },
  {
    version: 3,
    name: 'shared counts, attempts, secrets, heartbeats',
    sql: `
      CREATE TABLE shared_counts (
        name TEXT NOT NULL,
        window_start INTEGER NOT NULL,
        holder TEXT NOT NULL,
        count INTEGER NOT NULL,
        until INTEGER NOT NULL,
        PRIMARY KEY (name, window_start, holder)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX shared_counts_by_end ON shared_counts (until);
      CREATE TABLE count_holders (holder TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE attempts (
        name TEXT PRIMARY KEY,
        count INTEGER NOT NULL,
        until INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX attempts_by_end ON attempts (until);
      CREATE TABLE shared_secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE heartbeats (
        part TEXT PRIMARY KEY,
        text TEXT NOT NULL,
        at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
    `,
  },
  {
    version: 4,
    name: 'notices, uptime',
    sql: `
      CREATE TABLE notices (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('incident', 'maintenance')),
        title TEXT NOT NULL,
        text TEXT NOT NULL,
        starts_at INTEGER NOT NULL,
        ends_at INTEGER,
        updated_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX notices_by_start ON notices (starts_at);
      CREATE TABLE uptime (slot INTEGER PRIMARY KEY, minutes INTEGER NOT NULL) STRICT;
    `,
  },
  {
    version: 5,
    name: 'idempotency claims',
    sql: `
      ALTER TABLE idempotency ADD COLUMN claim INTEGER NOT NULL DEFAULT 0;
      -- The number of the newest claim.
      CREATE TABLE idempotency_claims (newest INTEGER NOT NULL) STRICT;
      INSERT INTO idempotency_claims VALUES (0);
    `,
  },
  {
    version: 6,
    name: 'charges written together',
    sql: `
      -- The charges of the entry, one per line: id and credits. Empty in older entries, which are one charge each.
      ALTER TABLE ledger ADD COLUMN charges TEXT NOT NULL DEFAULT '';
    `,
  },
  {
    version: 7,
    name: 'first key of rotations',
    sql: `
      -- The first key of a chain of rotations; null in that key itself.
      ALTER TABLE keys ADD COLUMN first_key_id TEXT;
      -- UNION instead of UNION ALL, so that it ends even if a damaged chain leads back to itself.
      WITH RECURSIVE chain (id, first_key_id, replaced_by) AS (
        SELECT id, id, replaced_by FROM keys
          WHERE replaced_by IS NOT NULL AND id NOT IN (SELECT replaced_by FROM keys WHERE replaced_by IS NOT NULL)
        UNION
        SELECT k.id, chain.first_key_id, k.replaced_by FROM chain JOIN keys k ON k.id = chain.replaced_by
      )
      UPDATE keys SET first_key_id = chain.first_key_id FROM chain
        WHERE chain.id = keys.id AND chain.id <> chain.first_key_id;
      -- Each chain has one key that was not replaced.
      CREATE INDEX keys_newest ON keys (first_key_id) WHERE replaced_by IS NULL;
    `,
  },
]
