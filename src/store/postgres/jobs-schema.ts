import type { Migration } from '../migration.ts'

/** Tables in the schema of an environment. */
export const JOBS_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'subscriptions, delivery jobs, history',
    sql: `
      CREATE TABLE subscriptions (
        id text COLLATE "C" PRIMARY KEY,
        account_id text COLLATE "C" NOT NULL,
        key_id text NOT NULL,
        url text NOT NULL,
        kinds text NOT NULL,
        addresses text NOT NULL,
        batch boolean NOT NULL,
        active boolean NOT NULL,
        disabled_reason text,
        disabled_at bigint,
        created_at bigint NOT NULL,
        secret text NOT NULL,
        previous_secret text,
        previous_until bigint,
        failing_since bigint,
        last_success_at bigint
      );
      CREATE INDEX subscriptions_by_account ON subscriptions (account_id, created_at, id);
      -- Its row is locked while a subscription is created, changed or deleted.
      CREATE TABLE subscriptions_version (
        only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
        value bigint NOT NULL
      );
      INSERT INTO subscriptions_version (value) VALUES (0);

      -- The event log and the position up to which deliveries are planned; empty until the first is planned.
      CREATE TABLE job_position (
        only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
        log_id text NOT NULL,
        seq bigint NOT NULL
      );

      -- The text of an event, stored once for all its jobs, because jobs may outlive the event log. Two logs may use
      -- the same number for different events.
      CREATE TABLE job_payloads (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        seq bigint NOT NULL,
        event_id text COLLATE "C" NOT NULL,
        kind text NOT NULL,
        body text NOT NULL
      );
      CREATE UNIQUE INDEX job_payloads_by_event ON job_payloads (seq, event_id, md5(body));

      CREATE TABLE jobs (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        subscription_id text COLLATE "C" NOT NULL,
        payload bigint NOT NULL,
        created_at bigint NOT NULL,
        due_at bigint NOT NULL,
        -- The claim of the worker that delivers it; 0 if there is none.
        claim bigint NOT NULL DEFAULT 0,
        failures int NOT NULL DEFAULT 0,
        last_status int,
        last_error text,
        last_attempt_at bigint,
        duration_ms bigint,
        last_response text,
        last_request_head text,
        last_response_head text
      ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
      CREATE INDEX jobs_by_due ON jobs (subscription_id, due_at, number);
      CREATE INDEX jobs_by_number ON jobs (subscription_id, number);
      CREATE INDEX jobs_by_payload ON jobs (payload);
      CREATE SEQUENCE job_claims;

      CREATE TABLE job_history (
        subscription_id text COLLATE "C" NOT NULL,
        number bigint NOT NULL,
        seq bigint NOT NULL,
        event_id text NOT NULL,
        kind text NOT NULL,
        state text NOT NULL CHECK (state IN ('delivered', 'failed')),
        attempts int NOT NULL,
        last_status int,
        last_error text,
        last_attempt_at bigint NOT NULL,
        duration_ms bigint,
        created_at bigint NOT NULL,
        last_response text,
        last_request_head text,
        last_response_head text,
        PRIMARY KEY (subscription_id, number)
      ) WITH (autovacuum_vacuum_scale_factor = 0.05);
      CREATE INDEX job_history_by_time ON job_history (last_attempt_at);
    `,
  },
  {
    version: 2,
    name: 'history by month',
    sql: `
      -- Existing rows stay where they are, as the first partition, so that none is copied.
      ALTER TABLE job_history RENAME TO job_history_first;
      ALTER TABLE job_history_first DROP CONSTRAINT job_history_pkey;
      ALTER INDEX job_history_by_time RENAME TO job_history_first_by_time;
      CREATE TABLE job_history (LIKE job_history_first INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
        PARTITION BY RANGE (last_attempt_at);
      -- Numbers are unique; the time is in the key because it is the partition key.
      ALTER TABLE job_history ADD PRIMARY KEY (subscription_id, number, last_attempt_at);
      CREATE INDEX job_history_by_time ON job_history (last_attempt_at);
      DO $$
      DECLARE
        newest bigint;
      BEGIN
        SELECT greatest(now_ms(), max(last_attempt_at)) INTO newest FROM job_history_first;
        EXECUTE format(
          'ALTER TABLE job_history ATTACH PARTITION job_history_first FOR VALUES FROM (MINVALUE) TO (%s)',
          (extract(epoch FROM date_trunc('month', to_timestamp(newest / 1000.0) AT TIME ZONE 'UTC')
            + interval '1 month') * 1000)::bigint);
      END $$;
      -- Rows of times without a partition, after a wrong clock or without upkeep of the store.
      CREATE TABLE job_history_other PARTITION OF job_history DEFAULT;

      -- False if a partition already has this time, or if the default partition has rows of it.
      CREATE FUNCTION add_history(part text, low bigint, high bigint) RETURNS boolean LANGUAGE plpgsql AS $$
      BEGIN
        IF to_regclass(quote_ident(part)) IS NOT NULL THEN RETURN false; END IF;
        EXECUTE format('CREATE TABLE %I (LIKE job_history INCLUDING ALL)', part);
        EXECUTE format('ALTER TABLE job_history ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', part, low, high);
        RETURN true;
      EXCEPTION WHEN check_violation OR invalid_object_definition THEN
        RETURN false;
      END $$;
      -- Drops the partitions that contain only older rows.
      CREATE FUNCTION drop_history(older_than bigint) RETURNS int LANGUAGE plpgsql AS $$
      DECLARE
        part text;
        dropped int := 0;
      BEGIN
        FOR part IN
          SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
          WHERE i.inhparent = to_regclass('job_history')
            AND (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \\(''?(\\d+)''?\\)'))[1]::bigint <= older_than
          ORDER BY c.relname
        LOOP
          EXECUTE format('DROP TABLE %I', part);
          dropped := dropped + 1;
        END LOOP;
        RETURN dropped;
      END $$;
    `,
  },
  {
    version: 3,
    name: 'the newest changes of subscriptions',
    sql: `
      -- The last version that created or deleted a subscription or changed which events one wants.
      ALTER TABLE subscriptions_version ADD COLUMN selected bigint NOT NULL DEFAULT 0;
      CREATE TABLE subscription_changes (
        version bigint NOT NULL,
        id text COLLATE "C" NOT NULL,
        PRIMARY KEY (version, id)
      );
    `,
  },
]
