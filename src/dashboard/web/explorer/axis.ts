/** How the axis of a chart shows prices. */
import type { AutoscaleInfo } from 'lightweight-charts'

/** A probability lies between 0 and 1, even if the axis leaves room around it. */
const isProbability = (value: number) => value >= 0 && value <= 1

/** Prices with thousands separators. If prices are probabilities, values outside 0 to 1 get no label. */
export function priceLabels(decimals: number, ofProbabilities: boolean): (value: number) => string {
  const format = new Intl.NumberFormat('en-US', {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  })
  // The axis computes 0 with a small error, which would be written as -0.00.
  const rounded = (value: number) => Number(value.toFixed(decimals)) || 0
  return (value) => (ofProbabilities && !isProbability(rounded(value)) ? '' : format.format(rounded(value)))
}

/** The range of an axis of probabilities: that of the prices, limited to 0 to 1. */
export function clampRange(original: () => AutoscaleInfo | null): AutoscaleInfo | null {
  const info = original()
  if (!info?.priceRange) return info
  const { minValue, maxValue } = info.priceRange
  return { ...info, priceRange: { minValue: Math.max(0, minValue), maxValue: Math.min(1, maxValue) } }
}
