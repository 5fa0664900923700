import { DROPPED_RANK, MIGRATED_RANK, PENDING_TIME } from '../chain/history-place.ts'
import { CONFIRMED, DROPPED, PENDING } from '../chain/row-codes.ts'
import type { Migration } from '../migration.ts'

/**
 * The chain index and the event log of an environment. Everything that is counted is in the single row of
 * `chain_state`, which every write locks first, so that numbers follow the order of commits without gaps. A sequence
 * guarantees neither.
 *
 * `transactions` and `address_rows` can be distributed by `tx_id` and `address`; everything else stays on one server. A
 * transaction gets its number (`place`) when it is first seen. Rows of an address are in the order of its history.
 */
export const CHAIN_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'index and event log',
    sql: `
      CREATE TABLE chain_state (
        only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
        -- The random name of the log, which never changes.
        log_name text NOT NULL,
        newest_seq bigint NOT NULL,
        -- NULL while the log is empty.
        oldest_seq bigint,
        bytes bigint NOT NULL,
        newest_place bigint NOT NULL,
        -- The last write, so that a write whose answer was lost is recognised and not repeated.
        last_write uuid,
        -- Server and timeline of the last write.
        server text,
        -- Blocks with smaller ids belong to a chain that was followed before a gap.
        chain_from bigint NOT NULL,
        coverage_from bigint,
        indexed_from bigint,
        retained_from bigint
      ) WITH (fillfactor = 10);
      INSERT INTO chain_state (log_name, newest_seq, bytes, newest_place, chain_from)
        VALUES (left(gen_random_uuid()::text, 8), 0, 0, 0, 1);
      -- Tells the planner that it has one row.
      ANALYZE chain_state;

      CREATE TABLE events (
        seq bigint PRIMARY KEY,
        kind text COLLATE "C" NOT NULL,
        created_at bigint NOT NULL,
        -- Joined by spaces.
        addresses text NOT NULL,
        -- The number of characters of the whole text; its beginning is derived from the sequence number.
        size int NOT NULL,
        tail text NOT NULL
      );
      CREATE INDEX events_by_kind ON events (kind, seq);
      CREATE INDEX events_by_time ON events (created_at);
      CREATE TABLE event_addresses (
        address text COLLATE "C" NOT NULL,
        seq bigint NOT NULL,
        PRIMARY KEY (address, seq)
      );

      CREATE TABLE chain_blocks (
        id bigint PRIMARY KEY,
        hash bytea NOT NULL UNIQUE,
        blue_score bigint NOT NULL,
        daa_score bigint NOT NULL,
        time_ms bigint NOT NULL
      );
      CREATE TABLE transactions (
        tx_id bytea PRIMARY KEY,
        place bigint NOT NULL,
        status smallint NOT NULL,
        first_seen bigint NOT NULL,
        changed_at bigint NOT NULL,
        mempool_event boolean NOT NULL,
        accepted_event boolean NOT NULL,
        fee bigint,
        block_hash bytea,
        block_time bigint,
        accepting_hash bytea,
        accepting_time bigint,
        accepting_blue_score bigint,
        accepting_daa_score bigint,
        parsed text NOT NULL
      );
      CREATE INDEX transactions_pending ON transactions (place) WHERE status = 0;
      CREATE INDEX transactions_dropped ON transactions (changed_at) WHERE status = 2;
      CREATE INDEX transactions_by_age ON transactions (first_seen);
      -- The score grows with the chain. An index on hashes would be written at random positions.
      CREATE INDEX transactions_by_acceptance ON transactions (accepting_blue_score);
      CREATE TABLE address_rows (
        address text COLLATE "C" NOT NULL,
        place bigint NOT NULL,
        tx_id bytea NOT NULL,
        direction smallint NOT NULL,
        amount bigint NOT NULL,
        received bigint NOT NULL,
        sent bigint NOT NULL,
        counterparty text,
        event_seq bigint,
        PRIMARY KEY (address, place)
      );
      -- Negative, so that the planner does not use it for the order of an address's rows.
      CREATE INDEX address_rows_by_transaction ON address_rows ((-place));

      CREATE TABLE seen_blocks (hash bytea PRIMARY KEY, seen_at bigint NOT NULL);
      CREATE INDEX seen_blocks_by_time ON seen_blocks (seen_at);
      CREATE TABLE gaps (id bigint PRIMARY KEY, recorded_at bigint NOT NULL, gap text NOT NULL);
    `,
  },
  {
    version: 2,
    name: 'history by block time, what replaced a transaction',
    sql: `
      ALTER TABLE transactions ADD COLUMN replaced_by bytea;
      ALTER TABLE address_rows ADD COLUMN time_ms bigint, ADD COLUMN rank bigint;
      UPDATE address_rows r SET time_ms = p.time_ms, rank = p.rank
        FROM (
          SELECT place, block_time AS time_ms, ${MIGRATED_RANK('place')} AS rank
            FROM transactions WHERE status = ${CONFIRMED}
          UNION ALL SELECT place, ${PENDING_TIME}, place FROM transactions WHERE status = ${PENDING}
          UNION ALL SELECT place, first_seen, place + ${DROPPED_RANK} FROM transactions WHERE status = ${DROPPED}
        ) p WHERE p.place = r.place;
      ALTER TABLE address_rows ALTER COLUMN time_ms SET NOT NULL, ALTER COLUMN rank SET NOT NULL,
        DROP CONSTRAINT address_rows_pkey, ADD PRIMARY KEY (address, time_ms, rank, place);
    `,
  },
  {
    version: 3,
    name: 'where all blocks were seen',
    sql: `
      -- All blocks of the DAG below this block of the chain have been seen.
      ALTER TABLE chain_state ADD COLUMN seen_to bytea, ADD COLUMN seen_to_score bigint;
    `,
  },
  {
    version: 4,
    name: 'covenants',
    sql: `
      CREATE TABLE covenant_steps (
        covenant bytea NOT NULL,
        rank bigint NOT NULL,
        tx_id bytea NOT NULL,
        time_ms bigint NOT NULL,
        step text NOT NULL,
        PRIMARY KEY (covenant, rank)
      );
      CREATE INDEX covenant_steps_by_tx ON covenant_steps (tx_id);
      CREATE TABLE covenant_outputs (
        tx_id bytea NOT NULL,
        idx int NOT NULL,
        covenant bytea NOT NULL,
        amount bigint NOT NULL,
        script text NOT NULL,
        address text COLLATE "C",
        time_ms bigint NOT NULL,
        spent_by bytea,
        spent_rank bigint,
        PRIMARY KEY (tx_id, idx)
      );
      CREATE INDEX covenant_outputs_unspent ON covenant_outputs (covenant, tx_id, idx) WHERE spent_by IS NULL;
      CREATE INDEX covenant_outputs_by_address ON covenant_outputs (address, covenant, tx_id, idx)
        WHERE spent_by IS NULL;
      CREATE INDEX covenant_outputs_by_spender ON covenant_outputs (spent_by) WHERE spent_by IS NOT NULL;
      CREATE INDEX covenant_outputs_by_spending ON covenant_outputs (spent_rank) WHERE spent_rank IS NOT NULL;
    `,
  },
  {
    version: 5,
    name: 'tokens',
    sql: `
      CREATE TABLE token_entries (
        key text COLLATE "C" PRIMARY KEY,
        token text COLLATE "C" NOT NULL,
        kind text COLLATE "C" NOT NULL,
        place text COLLATE "C" NOT NULL,
        value text NOT NULL
      );
      CREATE INDEX token_entries_listed ON token_entries (token) WHERE kind = 'token';
      CREATE INDEX token_entries_held ON token_entries (token, place, key) WHERE kind = 'holder';
      -- The previous value of an entry; NULL if there was none.
      CREATE TABLE token_undo (
        rank bigint NOT NULL,
        n int NOT NULL,
        key text COLLATE "C" NOT NULL,
        before text,
        PRIMARY KEY (rank, n)
      );
      CREATE INDEX token_undo_by_key ON token_undo (key, rank, n);
      CREATE TABLE retractable_events (
        rank bigint NOT NULL,
        seq bigint NOT NULL,
        tail text NOT NULL,
        PRIMARY KEY (rank, seq)
      );
    `,
  },
]
