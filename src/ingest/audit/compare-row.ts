/** Compares one stored row with what it should be according to the venue. */
import { type Feed, feedName } from '../../core/feed.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import { rowEncoder } from '../../core/rows/row-kinds.ts'
import type { WrongRow } from './suspicions.ts'

/** Compares a stored row with the expected one, in the given figures; `put` corrects it. */
export function compared<Row extends object>(
  feed: Feed,
  row: Row | undefined,
  input: { readonly time: number },
  figures: readonly (keyof Row)[],
  put: () => void,
): WrongRow[] {
  const expected = rowOf(feed, input)
  // A row that cannot be stored is already a gap.
  if (expected === undefined) return []
  const differing =
    row === undefined ? figures : figures.filter((name) => row[name] !== (expected as Row)[name])
  if (differing.length === 0) return []
  const lengthMs = feed.interval === '' ? 1 : INTERVAL_MS[feed.interval]
  return [
    {
      key: `${feedName(feed)}/${input.time}`,
      truth: JSON.stringify(figures.map((name) => (expected as Row)[name])),
      correct() {
        put()
        const what =
          row === undefined
            ? 'a row was missing that the venue has'
            : `${differing.join(', ')} of a row were not what the venue has`
        return { what, action: 'corrected', feed, fromMs: input.time, toMs: input.time + lengthMs }
      },
    },
  ]
}

/** The row that would be served. */
function rowOf(feed: Feed, input: object): object | undefined {
  try {
    return JSON.parse(rowEncoder(feed)(input as never).text) as object
  } catch {
    return undefined
  }
}
