/**
 * The driver asks for a description of the columns with every execution, and makes a parser of them each time. Those of
 * a prepared statement never change (the server refuses it if a table does), so they are asked for once per connection.
 */
import type { Query, QueryResult } from 'pg'
import type { Statement } from './database.ts'

/** Parts of the driver that its types lack. */
interface DriverConnection {
  describe(what: unknown): void
}
interface Columns {
  readonly fields: unknown[]
  readonly _parsers: unknown
  readonly _prebuiltEmptyResultObject: unknown
}
interface DriverQuery {
  name: string
  _result: Columns
  _accumulateRows: boolean
  prepare(connection: DriverConnection): void
  hasBeenParsed(connection: DriverConnection): boolean
  handleRowDescription(message: unknown): void
}
type Answered = (error: Error | null | undefined, result: QueryResult) => void
type QueryClass = new (config: object, callback: Answered) => Query & DriverQuery

/** Returns what makes queries for one connection. */
export function describedOnce(driver: typeof Query) {
  const columnsOf = new Map<string, Columns>()
  /** The connection, except that it describes nothing. */
  let silent: DriverConnection | undefined

  class PreparedQuery extends (driver as unknown as QueryClass) {
    override prepare(connection: DriverConnection): void {
      const columns = this.hasBeenParsed(connection) ? columnsOf.get(this.name) : undefined
      if (columns === undefined) {
        super.prepare(connection)
        return
      }
      Object.assign(this._result, columns)
      this._accumulateRows = true
      silent ??= Object.assign(Object.create(connection) as DriverConnection, { describe() {} })
      super.prepare(silent)
    }

    override handleRowDescription(message: unknown): void {
      super.handleRowDescription(message)
      // Not the whole result, which has the rows of this answer.
      const { fields, _parsers, _prebuiltEmptyResultObject } = this._result
      columnsOf.set(this.name, { fields, _parsers, _prebuiltEmptyResultObject })
    }
  }

  return ({ name, text }: Statement, values: readonly unknown[] | undefined, answered: Answered): Query =>
    new PreparedQuery({ name, text, values }, answered)
}
