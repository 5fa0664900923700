import type { Migration } from '../migration.ts'

/** Tables in the shared schema. Every text key is compared by bytes, as in the embedded engine. */
export const ACCOUNTS_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'accounts, keys, credits, usage, users, billing',
    sql: `
      CREATE TABLE accounts (
        id text COLLATE "C" PRIMARY KEY,
        email text COLLATE "C" NOT NULL,
        plan text NOT NULL,
        billing_day int NOT NULL CHECK (billing_day BETWEEN 1 AND 31),
        paused_reason text,
        created_at bigint NOT NULL,
        -- The number of the last change that other processes have to notice.
        change_seq bigint NOT NULL DEFAULT 0
      );
      CREATE UNIQUE INDEX accounts_by_email ON accounts (lower(email));
      CREATE INDEX accounts_by_change ON accounts (change_seq);
      -- A row instead of a sequence: its lock is held until the commit, so that numbers become visible in order.
      CREATE TABLE account_changes (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), newest bigint NOT NULL);
      INSERT INTO account_changes (newest) VALUES (0);

      CREATE TABLE keys (
        id text COLLATE "C" PRIMARY KEY,
        account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
        environment text NOT NULL CHECK (environment IN ('test', 'live')),
        name text NOT NULL,
        hash text COLLATE "C" NOT NULL UNIQUE,
        hint text NOT NULL,
        scopes text,
        allowed_cidrs text,
        credit_cap bigint,
        created_at bigint NOT NULL,
        last_used_at bigint,
        expires_at bigint,
        revoked_at bigint,
        replaced_by text
      );
      CREATE INDEX keys_by_account ON keys (account_id);

      -- Every process updates it ten times a second. With free space on the page, an update does not touch the index.
      CREATE TABLE budgets (
        id text COLLATE "C" NOT NULL,
        period_start bigint NOT NULL,
        credit_limit bigint NOT NULL,
        used bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (id, period_start)
      ) WITH (fillfactor = 50);
      CREATE TABLE credit_leases (
        budget_id text COLLATE "C" NOT NULL,
        period_start bigint NOT NULL,
        holder text COLLATE "C" NOT NULL,
        amount bigint NOT NULL,
        expires_at bigint NOT NULL,
        PRIMARY KEY (budget_id, period_start, holder)
      ) WITH (fillfactor = 50);
      CREATE TABLE credit_lease_wants (
        budget_id text COLLATE "C" NOT NULL,
        period_start bigint NOT NULL,
        holder text COLLATE "C" NOT NULL,
        until bigint NOT NULL,
        PRIMARY KEY (budget_id, period_start, holder)
      ) WITH (fillfactor = 50);

      CREATE TABLE ledger (
        id text COLLATE "C" PRIMARY KEY,
        at bigint NOT NULL,
        account_id text NOT NULL,
        environment text NOT NULL,
        key_id text NOT NULL,
        endpoint text NOT NULL,
        credits bigint NOT NULL,
        row_count bigint NOT NULL
      );
      CREATE INDEX ledger_by_time ON ledger (at);
      CREATE TABLE usage (
        account_id text COLLATE "C" NOT NULL,
        day text COLLATE "C" NOT NULL,
        environment text COLLATE "C" NOT NULL,
        endpoint text COLLATE "C" NOT NULL,
        key_id text COLLATE "C" NOT NULL,
        requests bigint NOT NULL DEFAULT 0,
        credits bigint NOT NULL DEFAULT 0,
        row_count bigint NOT NULL DEFAULT 0,
        failed bigint NOT NULL DEFAULT 0,
        rate_limited bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (account_id, day, environment, endpoint, key_id)
      ) WITH (fillfactor = 70);

      CREATE TABLE idempotency (
        id text COLLATE "C" PRIMARY KEY,
        account_id text COLLATE "C" NOT NULL,
        body_hash text NOT NULL,
        claimed_until bigint NOT NULL,
        expires_at bigint NOT NULL,
        reply text,
        bytes bigint NOT NULL DEFAULT 0
      );
      CREATE INDEX idempotency_by_account ON idempotency (account_id, expires_at);
      CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
      -- Sums, so that a quota can be checked without reading the entries. The row of an account is locked before its
      -- entries are changed.
      CREATE TABLE idempotency_totals (
        account_id text COLLATE "C" PRIMARY KEY,
        entries bigint NOT NULL,
        bytes bigint NOT NULL
      ) WITH (fillfactor = 50);

      CREATE TABLE view_allowance (
        account_id text COLLATE "C" PRIMARY KEY,
        day text NOT NULL,
        used bigint NOT NULL
      );

      CREATE TABLE users (
        id text COLLATE "C" PRIMARY KEY,
        email text COLLATE "C" NOT NULL,
        role text NOT NULL CHECK (role IN ('operator', 'customer')),
        account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
        password_hash text NOT NULL,
        created_at bigint NOT NULL
      );
      CREATE UNIQUE INDEX users_by_email ON users (lower(email));
      CREATE INDEX users_by_account ON users (account_id);
      CREATE TABLE sessions (
        hash text COLLATE "C" PRIMARY KEY,
        user_id text COLLATE "C" NOT NULL REFERENCES users (id),
        created_at bigint NOT NULL,
        expires_at bigint NOT NULL
      );
      CREATE INDEX sessions_by_user ON sessions (user_id);
      CREATE INDEX sessions_by_expiry ON sessions (expires_at);
      CREATE TABLE password_resets (
        user_id text COLLATE "C" PRIMARY KEY REFERENCES users (id),
        hash text COLLATE "C" NOT NULL UNIQUE,
        expires_at bigint NOT NULL
      );
      CREATE TABLE invitations (
        role text COLLATE "C" PRIMARY KEY,
        hash text COLLATE "C" NOT NULL UNIQUE,
        account_id text
      );
      CREATE TABLE audit (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        at bigint NOT NULL,
        actor text NOT NULL,
        action text NOT NULL,
        account_id text COLLATE "C",
        detail text NOT NULL
      );
      CREATE INDEX audit_by_account ON audit (account_id, seq);

      CREATE TABLE billing_links (
        customer text COLLATE "C" PRIMARY KEY,
        account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
        last_event_at bigint NOT NULL,
        subscription text NOT NULL,
        status text NOT NULL,
        linked_at bigint NOT NULL
      );
      CREATE INDEX billing_by_account ON billing_links (account_id);
      CREATE TABLE billing_events (id text COLLATE "C" PRIMARY KEY, at bigint NOT NULL);
      CREATE INDEX billing_events_by_time ON billing_events (at);
    `,
  },
  {
    version: 2,
    name: 'notices, uptime',
    sql: `
      CREATE TABLE notices (
        id text COLLATE "C" PRIMARY KEY,
        kind text NOT NULL CHECK (kind IN ('incident', 'maintenance')),
        title text NOT NULL,
        text text NOT NULL,
        starts_at bigint NOT NULL,
        ends_at bigint,
        updated_at bigint NOT NULL
      );
      CREATE INDEX notices_by_start ON notices (starts_at);
      CREATE TABLE uptime (slot bigint PRIMARY KEY, minutes bigint NOT NULL);
    `,
  },
  {
    version: 3,
    name: 'idempotency claims',
    sql: `
      ALTER TABLE idempotency ADD COLUMN claim bigint NOT NULL DEFAULT 0;
      CREATE SEQUENCE idempotency_claims;
    `,
  },
  {
    version: 4,
    name: 'charges written together',
    sql: `
      -- The charges of the entry, one per line: id and credits. Empty in older entries, which are one charge each.
      ALTER TABLE ledger ADD COLUMN charges text NOT NULL DEFAULT '';
    `,
  },
  {
    version: 5,
    name: 'first key of rotations',
    sql: `
      -- The first key of a chain of rotations; null in that key itself.
      ALTER TABLE keys ADD COLUMN first_key_id text;
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
