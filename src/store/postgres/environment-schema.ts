import type { Migration } from '../migration.ts'

/** One table per dataset. A released migration is never edited, so a new dataset gets its table in a new migration. */
const SERIES = [
  'candles',
  'trades',
  'flow',
  'snapshots',
  'open_interest',
  'liquidations',
  'funding',
  'ticker',
] as const

/** Partitions cluster the rows by time; a page is one range of the primary key. */
const seriesTable = (dataset: string) => `
      CREATE TABLE series_${dataset} (
        feed_id bigint NOT NULL,
        ts bigint NOT NULL,
        seq bigint NOT NULL,
        recorded_at bigint NOT NULL,
        usd double precision,
        revision int NOT NULL,
        writes int NOT NULL,           -- how often the row was written; 1 if it is new
        closed boolean NOT NULL,
        instrument text COLLATE "C" NOT NULL,
        side text COLLATE "C",
        text text NOT NULL,
        PRIMARY KEY (feed_id, ts, instrument, seq)
      ) PARTITION BY RANGE (ts);
      CREATE INDEX ON series_${dataset} (feed_id, instrument, ts, seq) WHERE instrument <> '';`

/**
 * One schema per environment. The primary keys of the big tables contain feed_id, by which they can be distributed over
 * several servers; feeds, which is small and locked by every write, stays on one.
 */
export const ENVIRONMENT_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'series, books, coverage, markets',
    sql: `
      CREATE TABLE feeds (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        dataset text COLLATE "C" NOT NULL,
        source text COLLATE "C" NOT NULL,
        symbol text COLLATE "C" NOT NULL,
        interval text COLLATE "C" NOT NULL,
        final_before bigint NOT NULL DEFAULT 0,
        epoch bigint NOT NULL DEFAULT 0,
        version bigint NOT NULL DEFAULT 0,
        corrections bigint NOT NULL DEFAULT 0,
        first_ts bigint,               -- of its rows
        last_ts bigint,
        observed_from bigint,          -- its first observation
        covered_to bigint NOT NULL DEFAULT 0, -- no span ends later
        open_from bigint,              -- the newest span, while it is an observation that grows
        open_to bigint,
        UNIQUE (dataset, source, symbol, interval)
      ) WITH (fillfactor = 50);        -- every write updates some; free space on the page spares the index
${SERIES.map(seriesTable).join('\n')}

      CREATE TABLE series_revisions (
        feed_id bigint NOT NULL,
        ts bigint NOT NULL,
        instrument text COLLATE "C" NOT NULL,
        seq bigint NOT NULL,
        revision int NOT NULL,
        recorded_at bigint NOT NULL,
        superseded_at bigint NOT NULL,
        text text NOT NULL,
        books bytea,                   -- the books of that version, packed
        PRIMARY KEY (feed_id, ts, instrument, seq, revision)
      );

      -- ten minutes of one instrument: the newest rows are in a tail, the others in compressed blocks
      CREATE TABLE book_groups (
        feed_id bigint NOT NULL,
        span bigint NOT NULL,
        instrument text COLLATE "C" NOT NULL,
        version bigint NOT NULL,       -- changes whenever the blocks change
        blocks int NOT NULL,
        rows bigint NOT NULL,          -- rows in the blocks; below, the first and the last time
        first_ts bigint NOT NULL,
        last_ts bigint NOT NULL,
        waiting boolean NOT NULL,      -- while it has a tail
        tail_rows int NOT NULL,
        tail_first bigint NOT NULL,
        tail_last bigint NOT NULL,
        PRIMARY KEY (feed_id, span, instrument)
      ) WITH (fillfactor = 70);
      CREATE INDEX ON book_groups (feed_id, instrument, span);
      CREATE INDEX ON book_groups (feed_id, span) WHERE waiting;
      CREATE TABLE book_blocks (
        feed_id bigint NOT NULL,
        span bigint NOT NULL,
        instrument text COLLATE "C" NOT NULL,
        part int NOT NULL,             -- later parts have later rows
        data bytea NOT NULL,
        PRIMARY KEY (feed_id, span, instrument, part)
      ) PARTITION BY RANGE (span);
      ALTER TABLE book_blocks ALTER COLUMN data SET STORAGE EXTERNAL; -- the data is already compressed
      CREATE TABLE book_tail (
        feed_id bigint NOT NULL,
        span bigint NOT NULL,
        instrument text COLLATE "C" NOT NULL,
        ts bigint NOT NULL,
        seq bigint NOT NULL,
        recorded_at bigint NOT NULL,
        text text NOT NULL,
        sides bytea NOT NULL,          -- packed
        PRIMARY KEY (feed_id, span, instrument, ts, seq)
      );

      -- spans of a feed never overlap; touching spans differ in state. The newest may be in feeds (open_from, open_to).
      CREATE TABLE coverage_spans (
        feed_id bigint NOT NULL,
        from_ts bigint NOT NULL,
        to_ts bigint NOT NULL,
        state text NOT NULL,           -- 'observed' or the reason of a gap
        PRIMARY KEY (feed_id, from_ts)
      );

      CREATE TABLE markets (
        source_rank int NOT NULL,
        market_id text COLLATE "C" NOT NULL,
        symbol text COLLATE "C" NOT NULL,
        market_type text COLLATE "C" NOT NULL, -- '' if there is none
        resolved boolean NOT NULL,
        start_ms bigint,
        end_ms bigint NOT NULL,        -- the largest safe integer for a perpetual
        text text NOT NULL,
        PRIMARY KEY (source_rank, market_id)
      );
      CREATE INDEX ON markets (end_ms DESC, source_rank, market_id);
      CREATE INDEX ON markets (end_ms DESC, source_rank, market_id) WHERE NOT resolved;
      CREATE INDEX ON markets (source_rank, end_ms DESC, market_id);
      CREATE INDEX ON markets (source_rank, symbol, market_type, end_ms);
      CREATE TABLE market_identifiers (
        identifier text COLLATE "C" NOT NULL,
        source_rank int NOT NULL,
        market_id text COLLATE "C" NOT NULL,
        PRIMARY KEY (identifier, source_rank, market_id)
      );
      CREATE INDEX ON market_identifiers (source_rank, market_id);

      -- Created separately and then attached, because creating it in place would block readers of the whole table.
      CREATE FUNCTION add_partition(parent text, part text, low bigint, high bigint) RETURNS boolean
      LANGUAGE plpgsql AS $$
      BEGIN
        IF to_regclass(quote_ident(part)) IS NOT NULL THEN RETURN false; END IF;
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', part, parent);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', parent, part,
          coalesce(low::text, 'MINVALUE'), coalesce(high::text, 'MAXVALUE'));
        RETURN true;
      END $$;
      CREATE FUNCTION drop_partition(part text) RETURNS void LANGUAGE plpgsql AS $$
      BEGIN
        EXECUTE format('DROP TABLE %I', part);
      END $$;
    `,
  },
]
