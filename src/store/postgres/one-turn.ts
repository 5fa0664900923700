/**
 * Short statements that are asked for in one turn of the thread go to the server together: several of them cost one system
 * call there, and mostly one back. A connection takes a few of them, so that none waits long for those before it.
 */
import type { Statement } from './database.ts'

/** A statement and who waits for its rows. */
interface SentTogether {
  readonly statement: Statement
  readonly values: readonly unknown[]
  resolve(rows: unknown[]): void
  reject(error: unknown): void
}

const PER_CONNECTION = 8

type AskTogether = <R>(statement: Statement, values: readonly unknown[]) => Promise<R[]>

/** `send` settles each of a few, in order. */
export function askTogether(send: (asked: readonly SentTogether[]) => void): AskTogether {
  let waiting: SentTogether[] = []
  const flush = () => {
    const all = waiting
    waiting = []
    for (let at = 0; at < all.length; at += PER_CONNECTION) send(all.slice(at, at + PER_CONNECTION))
  }
  return (statement, values) =>
    new Promise((resolve, reject) => {
      // After everything that has arrived in this turn was looked at.
      if (waiting.length === 0) setImmediate(flush)
      waiting.push({ statement, values, resolve: (rows) => resolve(rows as never), reject })
    })
}
