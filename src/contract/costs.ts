/**
 * The price of an answer: a base, prices per unit (rows, attempts, upstream calls) and variants that depend on the
 * input. `charge` computes it and `describe` puts it into words, both from the same numbers.
 */
export interface Cost {
  readonly base: number
  readonly prices: Readonly<Record<string, number>>
  readonly variants: readonly CostVariant[]
  perRow(credits: number): Cost
  /** A price per unit. Every answer is charged for `always` units in addition to those that are counted. */
  per(unit: string, credits: number, always?: number): Cost
  /** Another price per row if the input has these values; `words` describes the condition. */
  perRowWhen(words: string, credits: number, when: CostInput): Cost
  /** The same cost with a part of the input fixed, reduced to the prices that can still occur. */
  given(fixed: CostInput): Cost
  charge(units: Units, input?: CostInput): number
  /** The minimum price of a useful answer: the base and one row. */
  least(input?: CostInput): number
  /** How many rows a balance pays for. */
  affordableRows(balance: number, input?: CostInput): number
  describe(): string
}

type CostInput = Readonly<Record<string, unknown>>
export type Units = Readonly<Record<string, number>>

interface CostVariant {
  readonly words: string
  readonly perRow: number
  readonly when: CostInput
}

const ROW = 'row'

export function base(credits: number): Cost {
  return build(credits, {}, [])
}

/** The same price for every answer. */
export function flat(credits: number): Cost {
  return base(credits)
}
export const noCredits = base(0)

function build(
  credits: number,
  prices: Readonly<Record<string, number>>,
  variants: readonly CostVariant[],
  always = 0,
): Cost {
  const fixed = credits + always
  const rowPrice = (input: CostInput) =>
    variants.find(({ when }) => applies(when, input))?.perRow ?? prices[ROW] ?? 0
  return {
    base: credits,
    prices,
    variants,
    perRow: (price) => build(credits, { ...prices, [ROW]: price }, variants, always),
    per: (unit, price, count = 0) =>
      build(credits, { ...prices, [unit]: price }, variants, always + price * count),
    perRowWhen: (words, perRow, when) =>
      build(credits, prices, [...variants, { words, perRow, when }], always),
    given(fixed) {
      const certain = variants.find(({ when }) => applies(when, fixed))
      if (certain !== undefined) return build(credits, { ...prices, [ROW]: certain.perRow }, [], always)
      const possible = variants.filter(({ when }) =>
        Object.entries(when).every(([name, value]) => fixed[name] === undefined || fixed[name] === value),
      )
      return build(credits, prices, possible, always)
    },
    charge(units, input = {}) {
      let total = fixed
      for (const unit in units) {
        total += (units[unit] ?? 0) * (unit === ROW ? rowPrice(input) : (prices[unit] ?? 0))
      }
      return total
    },
    least: (input = {}) => fixed + rowPrice(input),
    affordableRows(balance, input = {}) {
      const price = rowPrice(input)
      return price === 0 ? Number.POSITIVE_INFINITY : Math.floor((balance - fixed) / price)
    },
    describe() {
      const parts = Object.entries(prices).map(([unit, price]) => `${price} per ${unit}`)
      const plain = [credits === 0 && parts.length > 0 ? '' : String(credits), ...parts].filter(Boolean)
      const text = parts.length === 0 ? `${credits} flat` : plain.join(' plus ')
      const others = variants.map((variant) => `${credits} plus ${variant.perRow} per row ${variant.words}`)
      return [text, ...others].join('; ')
    },
  }
}

function applies(when: CostInput, input: CostInput): boolean {
  return Object.entries(when).every(([name, value]) => input[name] === value)
}
