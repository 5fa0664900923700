/** What the stores of this engine see of PostgreSQL: prepared statements, transactions, snapshots. */

/**
 * A prepared statement. One name has one text; a statement lives as long as its connection, so there is a bounded
 * number of them: lists are passed as arrays.
 */
export interface Statement {
  readonly name: string
  readonly text: string
}

export interface Queries {
  /** int8 arrives as a number (what can be above 2^53 is selected as text), bytea as a Buffer. */
  rows<R>(statement: Statement, values?: readonly unknown[]): Promise<R[]>
  /** The number of rows that it changed. */
  run(statement: Statement, values?: readonly unknown[]): Promise<number>
}

export interface WriteTransaction extends Queries {
  /** Its tables may lie on several servers. */
  readonly isSpread: boolean
}

export interface Database extends Queries {
  /** Of a statement that changes nothing, or nothing that must survive. */
  rows<R>(statement: Statement, values?: readonly unknown[]): Promise<R[]>
  /** A transaction of this statement alone: a write whose answer is lost is found out. */
  run(statement: Statement, values?: readonly unknown[]): Promise<number>
  /** Of a statement that is answered at once: others that are asked for at the same time may go before it. */
  shortRows<R>(statement: Statement, values: readonly unknown[]): Promise<R[]>
  /** Whether tables may lie on several servers: statements and snapshots that read several are then not of one moment. */
  isSpread(): Promise<boolean>
  /**
   * All or nothing. With a fence, the lease is checked in the same transaction: LeaseLostError, and nothing is written.
   * Statements need not be awaited one by one: they are sent at once and executed in order.
   */
  write<R>(run: (transaction: WriteTransaction) => Promise<R>): Promise<R>
  /** WritesRefusedError while writes are known to be refused, although the server answers. */
  checkWrites(): void
  /** Read only, everything of one moment where the tables lie on one server. */
  snapshot<R>(run: (transaction: Queries) => Promise<R>): Promise<R>
  /** Later calls are rejected with StoreClosedError. */
  close(): Promise<void>
}

export function statement(name: string, text: string): Statement {
  return { name, text }
}
