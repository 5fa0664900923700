import type { Migration } from '../migration.ts'

export const ROW_BYTES = 'octet_length(text) + octet_length(instrument)'
export const COUNT_FEEDS = `UPDATE feeds SET (rows, bytes) =
        (SELECT count(*), coalesce(sum(${ROW_BYTES}), 0) FROM series_rows WHERE feed = feeds.id)`
export const COUNT_GROUPS = `UPDATE book_groups SET bytes =
        (SELECT coalesce(sum(octet_length(data)), 0) FROM book_blocks WHERE book_group = book_groups.id)`

/**
 * One file per environment. Rows are clustered by their key, so that a page is one range of one tree; the order of
 * pages does not depend on when or in which order rows arrived.
 */
export const ENVIRONMENT_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'series, books, coverage, markets',
    sql: `
      CREATE TABLE feeds (
        id INTEGER PRIMARY KEY,
        dataset TEXT NOT NULL,
        source TEXT NOT NULL,
        symbol TEXT NOT NULL,
        interval TEXT NOT NULL,
        final_before INTEGER NOT NULL DEFAULT 0,
        epoch INTEGER NOT NULL DEFAULT 0,
        version INTEGER NOT NULL DEFAULT 0,
        corrections INTEGER NOT NULL DEFAULT 0,
        UNIQUE (dataset, source, symbol, interval)
      ) STRICT;

      CREATE TABLE series_rows (
        feed INTEGER NOT NULL,
        ts INTEGER NOT NULL,
        instrument TEXT NOT NULL,
        seq INTEGER NOT NULL,
        text TEXT NOT NULL,
        closed INTEGER NOT NULL,
        side TEXT,
        usd REAL,
        revision INTEGER NOT NULL,
        recorded_at INTEGER NOT NULL,
        PRIMARY KEY (feed, ts, instrument, seq)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX series_rows_by_instrument ON series_rows (feed, instrument, ts, seq) WHERE instrument <> '';

      CREATE TABLE series_revisions (
        feed INTEGER NOT NULL,
        ts INTEGER NOT NULL,
        instrument TEXT NOT NULL,
        seq INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        recorded_at INTEGER NOT NULL,
        superseded_at INTEGER NOT NULL,
        text TEXT NOT NULL,
        books BLOB,                    -- the books of that version, packed
        PRIMARY KEY (feed, ts, instrument, seq, revision)
      ) STRICT, WITHOUT ROWID;

      -- which instruments have snapshots in which hour, so that sampling seeks instead of scanning
      CREATE TABLE series_active (
        feed INTEGER NOT NULL,
        hour INTEGER NOT NULL,
        instrument TEXT NOT NULL,
        PRIMARY KEY (feed, hour, instrument)
      ) STRICT, WITHOUT ROWID;

      -- ten minutes of one instrument: the newest rows are in a tail, the others in compressed blocks
      CREATE TABLE book_groups (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        feed INTEGER NOT NULL,
        span INTEGER NOT NULL,
        instrument TEXT NOT NULL,
        waiting INTEGER NOT NULL,      -- 1 while it has a tail
        version INTEGER NOT NULL,      -- changes with the blocks
        first_ts INTEGER NOT NULL,     -- of the rows in the blocks
        last_ts INTEGER NOT NULL,
        rows INTEGER NOT NULL,
        UNIQUE (feed, span, instrument)
      ) STRICT;
      CREATE INDEX book_groups_by_instrument ON book_groups (feed, instrument, span);
      CREATE INDEX book_groups_waiting ON book_groups (feed, span) WHERE waiting = 1;
      CREATE TABLE book_blocks (
        book_group INTEGER NOT NULL,
        part INTEGER NOT NULL,         -- later parts have later rows
        data BLOB NOT NULL,
        PRIMARY KEY (book_group, part)
      ) STRICT;
      CREATE TABLE book_tail (
        book_group INTEGER NOT NULL,
        ts INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        recorded_at INTEGER NOT NULL,
        text TEXT NOT NULL,
        sides BLOB NOT NULL,           -- packed
        PRIMARY KEY (book_group, ts, seq)
      ) STRICT;

      -- spans of a feed never overlap; touching spans differ in state
      CREATE TABLE coverage_spans (
        feed INTEGER NOT NULL,
        from_ts INTEGER NOT NULL,
        to_ts INTEGER NOT NULL,
        state TEXT NOT NULL,           -- 'observed' or the reason of a gap
        PRIMARY KEY (feed, from_ts)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE markets (
        source_rank INTEGER NOT NULL,
        market_id TEXT NOT NULL,
        symbol TEXT NOT NULL,
        market_type TEXT NOT NULL,     -- '' where there is none
        resolved INTEGER NOT NULL,
        start_ms INTEGER,
        end_ms INTEGER NOT NULL,       -- the largest integer for a perpetual
        text TEXT NOT NULL,
        PRIMARY KEY (source_rank, market_id)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX markets_by_end ON markets (end_ms DESC, source_rank, market_id);
      CREATE INDEX markets_unresolved ON markets (end_ms DESC, source_rank, market_id) WHERE resolved = 0;
      CREATE INDEX markets_by_source ON markets (source_rank, end_ms DESC, market_id);
      CREATE INDEX markets_by_window ON markets (source_rank, symbol, market_type, end_ms);
      CREATE TABLE market_identifiers (
        identifier TEXT NOT NULL,
        source_rank INTEGER NOT NULL,
        market_id TEXT NOT NULL,
        PRIMARY KEY (identifier, source_rank, market_id)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX market_identifiers_by_market ON market_identifiers (source_rank, market_id);
    `,
  },
  {
    version: 2,
    name: 'how much each feed takes',
    // Counted once here, afterwards updated with every write.
    sql: `
      ALTER TABLE feeds ADD COLUMN rows INTEGER NOT NULL DEFAULT 0;  -- those of series_rows
      ALTER TABLE feeds ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0; -- of their texts and instruments
      ALTER TABLE book_groups ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0; -- of its blocks
      ${COUNT_FEEDS};
      ${COUNT_GROUPS};
    `,
  },
  {
    version: 3,
    name: 'blocks of old rows',
    sql: `
      -- rows of past days, many in one compressed block
      CREATE TABLE packed_rows (
        id INTEGER PRIMARY KEY AUTOINCREMENT, -- a block is never changed: others have another id
        feed INTEGER NOT NULL,
        first_ts INTEGER NOT NULL,
        last_ts INTEGER NOT NULL,
        rows INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        data BLOB NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX packed_rows_by_time ON packed_rows (feed, first_ts, last_ts, rows, bytes);
    `,
  },
]

/** Large enough that longer rows stay on their page (an entry of a clustered tree may fill a quarter of it). */
export const PAGE_BYTES = 8192
