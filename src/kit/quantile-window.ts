/** Quantiles over the most recent samples. Sorting is lazy, because reads are rare and every call adds a sample. */
export interface QuantileWindow {
  add(sample: number): void
  /** undefined until `minSamples` were added */
  quantile(q: number): number | undefined
}

/** A quantile may be this many samples old. */
const RESORT_EVERY = 16

export function createQuantileWindow(size: number, minSamples: number): QuantileWindow {
  const ring = new Float64Array(size)
  let sorted = new Float64Array(0)
  let count = 0
  let sortedAt = -1
  return {
    add(sample) {
      ring[count % size] = sample
      count++
    },
    quantile(q) {
      if (count < minSamples) return undefined
      if (sortedAt < 0 || count - sortedAt >= RESORT_EVERY) {
        sorted = ring.slice(0, Math.min(count, size)).sort()
        sortedAt = count
      }
      return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]
    },
  }
}
