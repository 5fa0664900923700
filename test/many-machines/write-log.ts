/**
 * Which process has written to a table, and when: recorded by the server itself, in the transaction of the write.
 * Proves that only the leader of a part writes, even after it was stopped for longer than its lease.
 */
import assert from 'node:assert/strict'
import { postgresRows } from '../postgres/test-postgres.ts'

/** What the leader of a part writes: rows and coverage; the index and the numbers of events. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  'record:cexa/live': ['series_candles', 'series_ticker', 'coverage_spans', 'feeds'],
  'index/live': ['chain_state', 'events', 'chain_blocks', 'transactions'],
}

export interface WriteLog {
  /** Checks that every write came from the process that led the part at that time; returns how many each part had. */
  judge(): Promise<Record<string, number>>
}

export async function logWrites(schema: string): Promise<WriteLog> {
  const run = (text: string) => postgresRows(text, [])
  await run(`CREATE TABLE ${schema}.write_log (name text, who text, at timestamptz)`)
  await run(`CREATE FUNCTION ${schema}.log_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO ${schema}.write_log VALUES (TG_TABLE_NAME, current_setting('application_name'), clock_timestamp());
    RETURN NULL; END $$`)
  await run(`CREATE FUNCTION ${schema}.log_lease() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO ${schema}.write_log VALUES (NEW.part, 'tapeline ' || NEW.holder, clock_timestamp());
    RETURN NULL; END $$`)
  for (const table of Object.values(TABLES).flat())
    await run(`CREATE TRIGGER log_write AFTER INSERT OR UPDATE OR DELETE ON ${schema}_live.${table}
      FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.log_write()`)
  await run(`CREATE TRIGGER log_lease AFTER UPDATE OF term ON ${schema}.leases FOR EACH ROW
    WHEN (OLD.term <> NEW.term) EXECUTE FUNCTION ${schema}.log_lease()`)
  await run(`INSERT INTO ${schema}.write_log
    SELECT part, 'tapeline ' || holder, clock_timestamp() FROM ${schema}.leases`)
  return {
    async judge() {
      const log = (await run(
        `SELECT name, who, at::text AS at FROM ${schema}.write_log ORDER BY at`,
      )) as unknown as readonly { name: string; who: string; at: string }[]
      const counts: Record<string, number> = {}
      for (const [part, tables] of Object.entries(TABLES)) {
        let leader: string | undefined
        let writes = 0
        for (const { name, who, at } of log) {
          if (name === part) leader = who
          else if (tables.includes(name) && leader !== undefined) {
            assert.equal(who, leader, `${name} at ${at}`)
            writes++
          }
        }
        counts[part] = writes
      }
      return counts
    },
  }
}
