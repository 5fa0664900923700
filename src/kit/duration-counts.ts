/** Counts durations of one kind for a histogram. Labels and texts are built only when the metrics are read. */
const SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

export class DurationCounts {
  /** The last bucket counts what is above all bounds. */
  readonly #buckets = new Float64Array(SECONDS_BUCKETS.length + 1)
  #seconds = 0

  observe(seconds: number): void {
    let bucket = 0
    while (bucket < SECONDS_BUCKETS.length && seconds > (SECONDS_BUCKETS[bucket] ?? 0)) bucket++
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1
    this.#seconds += seconds
  }

  values(name: string, labels: Record<string, string>) {
    let count = 0
    const bounds = [...SECONDS_BUCKETS.map(String), '+Inf'].map((le, index) => {
      count += this.#buckets[index] ?? 0
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count }
    })
    if (count === 0) return []
    return [
      ...bounds,
      { metricName: `${name}_sum`, labels, value: this.#seconds },
      { metricName: `${name}_count`, labels, value: count },
    ]
  }
}
