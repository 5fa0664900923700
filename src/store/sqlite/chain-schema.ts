import { DROPPED_RANK, MIGRATED_RANK, PENDING_TIME } from '../chain/history-place.ts'
import { CONFIRMED, DROPPED, PENDING } from '../chain/row-codes.ts'
import type { Migration } from '../migration.ts'

/**
 * Ids and hashes are 32-byte blobs; each address is stored once, in its own table. The row ids of transactions follow
 * the order in which they were first seen. Rows of an address are stored in the order of its history. Events and
 * transaction texts make up most of the volume: see `events-blocks.ts` and `chain-texts.ts`.
 */
export const CHAIN_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'index and event log',
    sql: `
      CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

      CREATE TABLE addresses (id INTEGER PRIMARY KEY, address TEXT NOT NULL UNIQUE) STRICT;

      -- One row. The name is random and never changes; a number is never reused.
      CREATE TABLE event_log (name TEXT NOT NULL, newest_seq INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
      INSERT INTO event_log VALUES (lower(hex(randomblob(4))), 0, 0);
      CREATE TABLE event_kinds (id INTEGER PRIMARY KEY, kind TEXT NOT NULL UNIQUE) STRICT;
      CREATE TABLE event_tail (
        seq INTEGER PRIMARY KEY,
        kind INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        addresses TEXT NOT NULL,
        tail TEXT NOT NULL
      ) STRICT;
      CREATE TABLE event_blocks (
        last_seq INTEGER PRIMARY KEY,
        first_seq INTEGER NOT NULL,
        last_at INTEGER NOT NULL,
        kinds INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        count INTEGER NOT NULL,
        body BLOB NOT NULL
      ) STRICT;
      CREATE TABLE event_addresses (
        address INTEGER NOT NULL,
        block INTEGER NOT NULL,
        PRIMARY KEY (address, block)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE chain_blocks (
        id INTEGER PRIMARY KEY,
        hash BLOB NOT NULL UNIQUE,
        blue_score INTEGER NOT NULL,
        daa_score INTEGER NOT NULL,
        time INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE acceptances (
        block INTEGER NOT NULL,
        tx INTEGER NOT NULL,
        PRIMARY KEY (block, tx)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE transactions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        tx_id BLOB NOT NULL UNIQUE,
        status INTEGER NOT NULL,
        first_seen INTEGER NOT NULL,
        changed_at INTEGER NOT NULL,
        mempool_event INTEGER NOT NULL,
        accepted_event INTEGER NOT NULL,
        fee INTEGER,
        block_hash BLOB,
        block_time INTEGER,
        accepting_hash BLOB,
        accepting_time INTEGER,
        accepting_blue_score INTEGER,
        accepting_daa_score INTEGER
      ) STRICT;
      -- The served texts of transactions: the newest in rows of their own, older ones packed. A row replaces a block.
      CREATE TABLE transaction_texts (tx INTEGER PRIMARY KEY, parsed TEXT NOT NULL) STRICT;
      CREATE TABLE transaction_blocks (last_tx INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
      CREATE INDEX transactions_pending ON transactions (id) WHERE status = 0;
      CREATE INDEX transactions_dropped ON transactions (changed_at) WHERE status = 2;
      CREATE TABLE address_rows (
        address INTEGER NOT NULL,
        tx INTEGER NOT NULL,
        direction INTEGER NOT NULL,
        amount INTEGER NOT NULL,
        received INTEGER NOT NULL,
        sent INTEGER NOT NULL,
        counterparty INTEGER,
        event_seq INTEGER,
        PRIMARY KEY (address, tx)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX address_rows_by_tx ON address_rows (tx);

      CREATE TABLE seen_blocks (hash BLOB PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      CREATE INDEX seen_blocks_by_time ON seen_blocks (at);
      CREATE TABLE gaps (at INTEGER NOT NULL, gap TEXT NOT NULL) STRICT;
    `,
  },
  {
    version: 2,
    name: 'history by block time, what replaced a transaction',
    sql: `
      ALTER TABLE transactions ADD COLUMN replaced_by BLOB;
      ALTER TABLE address_rows RENAME TO rows_as_seen;
      DROP INDEX address_rows_by_tx;
      CREATE TABLE address_rows (
        address INTEGER NOT NULL,
        time INTEGER NOT NULL,
        rank INTEGER NOT NULL,
        tx INTEGER NOT NULL,
        direction INTEGER NOT NULL,
        amount INTEGER NOT NULL,
        received INTEGER NOT NULL,
        sent INTEGER NOT NULL,
        counterparty INTEGER,
        event_seq INTEGER,
        PRIMARY KEY (address, time, rank, tx)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO address_rows
        SELECT r.address, p.time, p.rank, r.tx, r.direction, r.amount, r.received, r.sent, r.counterparty, r.event_seq
          FROM rows_as_seen r JOIN (
            SELECT id, block_time AS time, ${MIGRATED_RANK('id')} AS rank FROM transactions WHERE status = ${CONFIRMED}
            UNION ALL SELECT id, ${PENDING_TIME}, id FROM transactions WHERE status = ${PENDING}
            UNION ALL SELECT id, first_seen, id + ${DROPPED_RANK} FROM transactions WHERE status = ${DROPPED}
          ) p ON p.id = r.tx;
      DROP TABLE rows_as_seen;
      CREATE INDEX address_rows_by_tx ON address_rows (tx);
    `,
  },
  {
    version: 3,
    name: 'covenants',
    sql: `
      CREATE TABLE covenant_steps (
        covenant BLOB NOT NULL,
        rank INTEGER NOT NULL,
        tx_id BLOB NOT NULL,
        time_ms INTEGER NOT NULL,
        step TEXT NOT NULL,
        PRIMARY KEY (covenant, rank)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX covenant_steps_by_tx ON covenant_steps (tx_id);
      CREATE TABLE covenant_outputs (
        tx_id BLOB NOT NULL,
        idx INTEGER NOT NULL,
        covenant BLOB NOT NULL,
        amount INTEGER NOT NULL,
        script TEXT NOT NULL,
        address TEXT,
        time_ms INTEGER NOT NULL,
        spent_by BLOB,
        spent_rank INTEGER,
        PRIMARY KEY (tx_id, idx)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX covenant_outputs_unspent ON covenant_outputs (covenant, tx_id, idx) WHERE spent_by IS NULL;
      CREATE INDEX covenant_outputs_by_address ON covenant_outputs (address, covenant, tx_id, idx)
        WHERE spent_by IS NULL;
      CREATE INDEX covenant_outputs_by_spender ON covenant_outputs (spent_by) WHERE spent_by IS NOT NULL;
      CREATE INDEX covenant_outputs_by_spending ON covenant_outputs (spent_rank) WHERE spent_rank IS NOT NULL;
    `,
  },
  {
    version: 4,
    name: 'tokens',
    sql: `
      CREATE TABLE token_entries (
        key TEXT PRIMARY KEY,
        token TEXT NOT NULL,
        kind TEXT NOT NULL,
        place TEXT NOT NULL,
        value TEXT NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX token_entries_listed ON token_entries (token) WHERE kind = 'token';
      CREATE INDEX token_entries_held ON token_entries (token, place, key) WHERE kind = 'holder';
      -- The previous value of an entry; NULL if there was none.
      CREATE TABLE token_undo (
        rank INTEGER NOT NULL,
        n INTEGER NOT NULL,
        key TEXT NOT NULL,
        before TEXT,
        PRIMARY KEY (rank, n)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX token_undo_by_key ON token_undo (key, rank, n);
      CREATE TABLE retractable_events (
        rank INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        tail TEXT NOT NULL,
        PRIMARY KEY (rank, seq)
      ) STRICT, WITHOUT ROWID;
    `,
  },
  {
    version: 5,
    name: 'events by time',
    sql: 'CREATE INDEX event_blocks_by_time ON event_blocks (last_at);',
  },
]
