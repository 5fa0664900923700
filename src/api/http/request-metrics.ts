import type { Metrics } from '../../kit/metrics.ts'

/** Counts and durations per route. Label look-ups are done once per route and status. */
export interface RequestMetrics {
  observe(route: string, status: number, seconds: number): void
}

const SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

export function createRequestMetrics(metrics: Metrics): RequestMetrics {
  const total = metrics.counter('tapeline_http_requests_total', 'Requests by route and status.', [
    'route',
    'status',
  ])
  const duration = metrics.histogram(
    'tapeline_http_request_seconds',
    'Time from the parsed request to the written answer.',
    SECONDS_BUCKETS,
    ['route'],
  )
  const counters = new Map<string, ReturnType<typeof total.labels>>()
  const timers = new Map<string, ReturnType<typeof duration.labels>>()
  return {
    observe(route, status, seconds) {
      const name = `${status} ${route}`
      let counter = counters.get(name)
      if (counter === undefined) {
        counter = total.labels(route, String(status))
        counters.set(name, counter)
      }
      counter.inc()
      let timer = timers.get(route)
      if (timer === undefined) {
        timer = duration.labels(route)
        timers.set(route, timer)
      }
      timer.observe(seconds)
    },
  }
}
