import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client'

export type { Counter } from 'prom-client'

interface MetricValue {
  metricName?: string
  labels: Record<string, string>
  value: number
}

/** A metric whose values are counted elsewhere and collected whenever the metrics are read. */
interface ReadMetric {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  values(): MetricValue[] | Promise<MetricValue[]>
}

/** Less than the time that Prometheus waits for an answer. */
const MAX_READ_MS = 4_000

/** One registry per running service, so that two services in one test process do not share counts. */
export interface Metrics {
  registry: Registry
  /** Returns the existing counter of this name, or a new one. */
  counter(name: string, help: string, labels?: string[]): Counter
  gauge(name: string, help: string, labels?: string[]): Gauge
  /** Metrics of the same name are merged. If one fails or takes too long, only its own values are missing. */
  read(metric: ReadMetric): void
}

export function createMetrics(options: { defaults: boolean }): Metrics {
  const registry = new Registry()
  if (options.defaults) collectProcessMetrics(registry)
  const common = { registers: [registry] }
  const readers = new Map<string, ReadMetric['values'][]>()
  return {
    registry,
    counter: (name, help, labels = []) =>
      (registry.getSingleMetric(name) as Counter | undefined) ??
      new Counter({ name, help, labelNames: labels, ...common }),
    gauge: (name, help, labels = []) =>
      (registry.getSingleMetric(name) as Gauge | undefined) ??
      new Gauge({ name, help, labelNames: labels, ...common }),
    read: ({ name, help, type, values }) => {
      const known = readers.get(name)
      if (known !== undefined) return void known.push(values)
      const all = [values]
      readers.set(name, all)
      const get = async () => ({
        ...{ name, help, type, aggregator: 'sum' },
        values: (await Promise.all(all.map(readInTime))).flat(),
      })
      registry.registerMetric({ name, get } as unknown as Metric)
    },
  }
}

/** A slow part must not delay the rest, because metrics matter most when a part of the service does not answer. */
async function readInTime(read: ReadMetric['values']): Promise<MetricValue[]> {
  let timer: NodeJS.Timeout | undefined
  try {
    const values = read()
    if (!(values instanceof Promise)) return values
    const late = new Promise<MetricValue[]>((resolve) => {
      timer = setTimeout(resolve, MAX_READ_MS, [])
    })
    return await Promise.race([values, late])
  } catch {
    return []
  } finally {
    clearTimeout(timer)
  }
}

/**
 * prom-client samples with a timer, which wakes the process a hundred times a second unless its period is very long.
 */
const NO_TIMER_MS = 2 ** 31 - 1

/**
 * The default metrics of prom-client, but with event loop delays sampled once per turn of the loop instead of by a
 * timer.
 */
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
    // The first gauge to be read sets all of them and starts a new period.
    const collect = index > 0 ? {} : { collect: () => setAll() }
    return { gauge: new Gauge({ name, help, registers: [registry], ...collect }), nanoseconds }
  })
  function setAll(): void {
    for (const { gauge, nanoseconds } of gauges) gauge.set(nanoseconds() / 1e9)
    delay.reset()
  }
}
