import type { Migration } from './migrate.ts'

/**
 * Ids and hashes are 32-byte blobs; addresses stand once in a table of their own. A transaction's row id is
 * given in the order in which transactions were first seen, so it is also the order of an address's history.
 */
export const CHAIN_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'index and event log',
    sql: `
      CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
      INSERT INTO facts VALUES ('log_id', lower(hex(randomblob(4)))), ('event_bytes', '0');

      CREATE TABLE addresses (id INTEGER PRIMARY KEY, address TEXT NOT NULL UNIQUE) STRICT;

      CREATE TABLE events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        addresses TEXT NOT NULL,
        text TEXT NOT NULL
      ) STRICT;
      CREATE INDEX events_by_kind ON events (kind, seq);
      CREATE TABLE event_addresses (
        address INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (address, seq)
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
        told_mempool INTEGER NOT NULL,
        told_accepted INTEGER NOT NULL,
        fee INTEGER,
        block_hash BLOB,
        block_time INTEGER,
        accepting_hash BLOB,
        accepting_time INTEGER,
        accepting_blue_score INTEGER,
        accepting_daa_score INTEGER,
        parsed TEXT NOT NULL
      ) STRICT;
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
]

/** In the order of their numbers in the table. */
export const STATUSES = ['pending', 'confirmed', 'dropped'] as const
export const DIRECTIONS = ['receive', 'send', 'self'] as const
