import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client'

export type { Counter } from 'prom-client'

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
  /** One that was made before by the same name, or a new one. */
  counter(name: string, help: string, labels?: string[]): Counter
  gauge(name: string, help: string, labels?: string[]): Gauge
  read(metric: ReadMetric): void
}

export function createMetrics(options: { defaults: boolean }): Metrics {
  const registry = new Registry()
  if (options.defaults) collectProcessMetrics(registry)
  const common = { registers: [registry] }
  return {
    registry,
    counter: (name, help, labels = []) =>
      (registry.getSingleMetric(name) as Counter | undefined) ??
      new Counter({ name, help, labelNames: labels, ...common }),
    gauge: (name, help, labels = []) =>
      (registry.getSingleMetric(name) as Gauge | undefined) ??
      new Gauge({ name, help, labelNames: labels, ...common }),
    read: ({ name, help, type, values }) => {
      const get = async () => ({ name, help, type, values: values(), aggregator: 'sum' })
      registry.registerMetric({ name, get } as unknown as Metric)
    },
  }
}

/** As a timer of prom-client, which wakes the process a hundred times a second unless it has a very long period. */
const NO_TIMER_MS = 2 ** 31 - 1

/** prom-client's own, with the delays of the event loop sampled once per turn of the loop and not by a timer. */
function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NO_TIMER_MS })
  const delay = monitorEventLoopDelay({ samplePerIteration: true })
  delay.enable()
  const gauges = (
    [
      ['min', 'The minimum recorded event loop delay.', () => delay.min],
      ['max', 'The maximum recorded event loop delay.', () => delay.max],
      ['mean', 'The mean of the recorded event loop delays.', () => delay.mean],
      ['stddev', 'The standard deviation of the recorded event loop delays.', () => delay.stddev],
      ['p50', 'The 50th percentile of the recorded event loop delays.', () => delay.percentile(50)],
      ['p90', 'The 90th percentile of the recorded event loop delays.', () => delay.percentile(90)],
      ['p99', 'The 99th percentile of the recorded event loop delays.', () => delay.percentile(99)],
    ] as const
  ).map(([part, help, nanoseconds], index) => {
    const name = `nodejs_eventloop_lag_${part}_seconds`
    registry.removeSingleMetric(name)
    // The first one to be read sets all of them, and a new period begins.
    const collect = index > 0 ? {} : { collect: () => setAll() }
    return { gauge: new Gauge({ name, help, registers: [registry], ...collect }), nanoseconds }
  })
  function setAll(): void {
    for (const { gauge, nanoseconds } of gauges) gauge.set(nanoseconds() / 1e9)
    delay.reset()
  }
}
