/** The stores' view of PostgreSQL: prepared statements, transactions, snapshots. */

/**
 * A prepared statement. Each name has exactly one text. Statements live as long as their connection, so their number is
 * kept bounded by passing lists as arrays.
 */
export interface Statement {
  readonly name: string
  readonly text: string
  /**
   * For a short statement with exactly one row: answers several of them at once, which takes the server less time. It
   * gets an array for each parameter and returns a row for each element, with its place, from 1, as `place`.
   */
  readonly forSeveral?: Statement
}

export interface Queries {
  /** int8 arrives as a number (values that can exceed 2^53 are selected as text), bytea as a Buffer. */
  rows<R>(statement: Statement, values?: readonly unknown[]): Promise<R[]>
  /** Returns the number of changed rows. */
  run(statement: Statement, values?: readonly unknown[]): Promise<number>
}

export interface WriteTransaction extends Queries {
  /** Whether its tables may be on several servers. */
  readonly isSpread: boolean
}

export interface Database extends Queries {
  /** For a statement that changes nothing, or nothing that must survive a crash. */
  rows<R>(statement: Statement, values?: readonly unknown[]): Promise<R[]>
  /** Runs the statement in its own transaction and finds out the outcome if the answer is lost. */
  run(statement: Statement, values?: readonly unknown[]): Promise<number>
  /** For a statement that is answered quickly; others that are requested at the same time may be sent before it. */
  shortRows<R>(statement: Statement, values: readonly unknown[]): Promise<R[]>
  /** Whether tables may be on several servers, in which case a statement or snapshot does not read a single moment. */
  isSpread(): Promise<boolean>
  /**
   * All or nothing. With a fence, the lease is checked in the same transaction; if it is lost, LeaseLostError is thrown
   * and nothing is written. Statements need not be awaited one by one: they are sent at once and executed in order.
   */
  write<R>(run: (transaction: WriteTransaction) => Promise<R>): Promise<R>
  /** Throws WritesRefusedError while writes are known to be refused although the server answers. */
  checkWrites(): void
  /** Read-only. Everything is read at one moment if the tables are on one server. */
  snapshot<R>(run: (transaction: Queries) => Promise<R>): Promise<R>
  /** Later calls are rejected with StoreClosedError. */
  close(): Promise<void>
}

export function statement(name: string, text: string, forSeveral?: Statement): Statement {
  return { name, text, ...(forSeveral && { forSeveral }) }
}
