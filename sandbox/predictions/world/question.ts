/** What pays one dollar, and how likely that is at an instant, given the spot price and the time left. */
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import type { Underlying } from './underlying.ts'

export interface Question {
  readonly symbol: AssetSymbol
  readonly endMs: number
  /** `mean60`: the mean of the last 60 seconds decides; `spot`: the price at the end decides. */
  readonly basis: 'mean60' | 'spot'
  /** Pays if floor ≤ value < cap, in dollars. The winner itself is decided elsewhere, with exact numbers. */
  readonly floor: number
  readonly cap: number
  readonly isWon: boolean
}

const MEAN_S = 60

/** Between 0 and 1; exactly the outcome from the end on. */
export function likelihood(world: Underlying, question: Question, timeMs: number): number {
  const leftS = (question.endMs - timeMs) / 1_000
  if (leftS <= 0) return question.isWon ? 1 : 0
  const spot = world.price(question.symbol, timeMs)
  let expected = spot
  let freeS = leftS
  if (question.basis === 'mean60') {
    if (leftS >= MEAN_S) {
      freeS = leftS - MEAN_S + MEAN_S / 3
    } else {
      // Part of the mean is already fixed; the rest has the weight leftS/60 and varies like an average.
      const knownS = Math.floor(MEAN_S - leftS)
      let sum = 0
      for (let second = 0; second < knownS; second++)
        sum += world.price(question.symbol, timeMs - second * 1_000)
      const known = knownS === 0 ? spot : sum / knownS
      const weight = leftS / MEAN_S
      expected = known * (1 - weight) + spot * weight
      freeS = (leftS / 3) * weight * weight
    }
  }
  const spread = world.sigma(question.symbol) * spot * Math.sqrt(freeS)
  const above = (level: number): number =>
    level === Number.POSITIVE_INFINITY
      ? 0
      : level === Number.NEGATIVE_INFINITY
        ? 1
        : 1 - normalBelow((level - expected) / spread)
  return above(question.floor) - above(question.cap)
}

/**
 * The normal distribution function to 2.5e-4, computed with sums and products only, so that every machine gets the same
 * bits.
 */
function normalBelow(x: number): number {
  const t = x < 0 ? -x : x
  const s = 1 + t * (0.196854 + t * (0.115194 + t * (0.000344 + t * 0.019527)))
  const square = s * s
  const tail = 0.5 / (square * square)
  return x < 0 ? tail : 1 - tail
}
