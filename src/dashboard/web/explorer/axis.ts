/** How the axis of a chart shows prices. */
import type { AutoscaleInfo } from 'lightweight-charts'

/** A probability cannot be below 0 or above 1, however much room the axis leaves around it. */
const isProbability = (value: number) => value >= 0 && value <= 1

/** With separators between thousands; where prices are probabilities, what cannot be one has no label. */
export function priceLabels(decimals: number, ofProbabilities: boolean): (value: number) => string {
  const format = new Intl.NumberFormat('en-US', {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  })
  // What the axis computes for 0 is a little off, and would be written as -0.00.
  const rounded = (value: number) => Number(value.toFixed(decimals)) || 0
  return (value) => (ofProbabilities && !isProbability(rounded(value)) ? '' : format.format(rounded(value)))
}

/** The range of an axis of probabilities: that of the prices, within 0 and 1. */
export function clampRange(original: () => AutoscaleInfo | null): AutoscaleInfo | null {
  const info = original()
  if (!info?.priceRange) return info
  const { minValue, maxValue } = info.priceRange
  return { ...info, priceRange: { minValue: Math.max(0, minValue), maxValue: Math.min(1, maxValue) } }
}
