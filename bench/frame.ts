/**
 * Every figure is a ratio to a limit that is measured in the same run. Rounds of both are interleaved, so
 * that a busy machine slows both, and the median of the rounds' ratios is taken.
 */
export interface Figure {
  name: string
  /** The bound of the figure; undefined for figures that are only reported. */
  atLeast?: number
  atMost?: number
  value: number
  detail: string
}

/** `full` uses the sizes that the bounds are defined for; the default is smaller and faster. */
export type Size = 'usual' | 'full'

/** A service that runs for days is warm, so nothing is measured while code is still being compiled. */
const WARM_ROUNDS = 3

export interface Round {
  subject: () => Promise<number>
  limit: () => Promise<number>
}

export async function ratio(
  rounds: number,
  round: Round,
  warmRounds = WARM_ROUNDS,
): Promise<{ ratio: number; subject: number; limit: number }> {
  const results: { ratio: number; subject: number; limit: number }[] = []
  for (let i = 0; i < warmRounds; i++) {
    await round.limit()
    await round.subject()
  }
  for (let i = 0; i < rounds; i++) {
    const first = i % 2 === 0
    const a = first ? await round.limit() : await round.subject()
    const b = first ? await round.subject() : await round.limit()
    const [limit, subject] = first ? [a, b] : [b, a]
    results.push({ ratio: subject / limit, subject, limit })
  }
  results.sort((a, b) => a.ratio - b.ratio)
  const middle = results[Math.floor(results.length / 2)]
  if (middle === undefined) throw new Error('no rounds')
  return middle
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

export function holds(figure: Figure): boolean {
  return (
    (figure.atLeast === undefined || figure.value >= figure.atLeast) &&
    (figure.atMost === undefined || figure.value <= figure.atMost)
  )
}
