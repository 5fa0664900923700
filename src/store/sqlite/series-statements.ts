import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { Lru } from '../../kit/lru.ts'

const MAX_STATEMENTS = 256

/** Prepared statements by their text; the shapes of pages are few. */
export interface Statements {
  prepare(sql: string): StatementSync
}

export function statementCache(database: DatabaseSync): Statements {
  const prepared = new Lru<string, StatementSync>({ maxEntries: MAX_STATEMENTS })
  return {
    prepare(sql) {
      const hit = prepared.get(sql)
      if (hit !== undefined) return hit
      const statement = database.prepare(sql)
      statement.setReturnArrays(true)
      prepared.set(sql, statement)
      return statement
    },
  }
}
