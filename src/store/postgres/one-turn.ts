/**
 * Sends short statements that are requested in one turn of the thread together, so that several of them cost one system
 * call to send and mostly one to receive. A connection takes only a few, which leave as soon as they are complete: none
 * waits long for those before it, and the server works while the turn goes on. Those that differ only in their values
 * become one statement, if there is one for several.
 */
import type { Statement } from './database.ts'

/** A statement and the caller that waits for its rows. */
interface SentTogether {
  readonly statement: Statement
  readonly values: readonly unknown[]
  resolve(rows: unknown[]): void
  reject(error: unknown): void
}

const PER_CONNECTION = 8

type AskTogether = <R>(statement: Statement, values: readonly unknown[]) => Promise<R[]>

/** `send` gets a few statements and settles each of them, in order. */
export function askTogether(send: (asked: readonly SentTogether[]) => void): AskTogether {
  let waiting: SentTogether[] = []
  const flush = () => {
    const all = waiting
    waiting = []
    if (all.length > 0) send(joined(all))
  }
  return (statement, values) =>
    new Promise((resolve, reject) => {
      // Runs after all input of this turn has been handled.
      if (waiting.length === 0) setImmediate(flush)
      waiting.push({ statement, values, resolve: (rows) => resolve(rows as never), reject })
      if (waiting.length === PER_CONNECTION) flush()
    })
}

/** A row of a statement for several, with the place of its values in the arrays, from 1. */
interface PlacedRow {
  readonly place: number
}

function joined(asked: readonly SentTogether[]): SentTogether[] {
  const alike = Map.groupBy(asked, ({ statement }) => statement)
  return [...alike].flatMap(([{ forSeveral }, same]) => {
    if (forSeveral === undefined || same.length === 1) return same
    const [{ values: first }] = same as [SentTogether]
    return {
      statement: forSeveral,
      values: first.map((_, parameter) => same.map(({ values }) => values[parameter])),
      resolve(rows) {
        for (const row of rows) same[(row as PlacedRow).place - 1]?.resolve([row])
        // Nobody waits for ever, and no page is taken for empty, if the server leaves one out.
        for (const { reject } of same)
          reject(new Error(`${forSeveral.name} has not answered all of its parts`))
      },
      reject(error) {
        for (const { reject } of same) reject(error)
      },
    }
  })
}
