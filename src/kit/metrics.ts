import { Counter, collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from 'prom-client'

export type { Counter, Gauge } from 'prom-client'

/** A metric whose values are counted elsewhere and collected when the metrics are read. */
interface ReadMetric {
  name: string
  help: string
  type: 'counter' | 'histogram'
  values(): { metricName?: string; labels: Record<string, string>; value: number }[]
}

/** One registry per running service, so that two services in one test process do not share counts. */
export interface Metrics {
  registry: Registry
  counter(name: string, help: string, labels?: string[]): Counter
  gauge(name: string, help: string, labels?: string[]): Gauge
  histogram(name: string, help: string, buckets: number[], labels?: string[]): Histogram
  read(metric: ReadMetric): void
}

export function createMetrics(options: { defaults: boolean }): Metrics {
  const registry = new Registry()
  if (options.defaults) collectDefaultMetrics({ register: registry })
  const common = { registers: [registry] }
  return {
    registry,
    counter: (name, help, labels = []) => new Counter({ name, help, labelNames: labels, ...common }),
    gauge: (name, help, labels = []) => new Gauge({ name, help, labelNames: labels, ...common }),
    histogram: (name, help, buckets, labels = []) =>
      new Histogram({ name, help, buckets, labelNames: labels, ...common }),
    read: ({ name, help, type, values }) => {
      const get = async () => ({ name, help, type, values: values(), aggregator: 'sum' })
      registry.registerMetric({ name, get } as unknown as Metric)
    },
  }
}
