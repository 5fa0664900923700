import type { Metrics } from '../../kit/metrics.ts'

const SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

interface RouteCounts {
  route: string
  statuses: Map<number, number>
  /** The last one counts what is above all bounds. */
  buckets: Float64Array
  seconds: number
}

/**
 * Counts and durations per route. A request only increments numbers; labels and texts are made when the metrics are
 * read, which is far less often.
 */
export function observeRoutes(
  metrics: Metrics,
): (route: string) => (status: number, seconds: number) => void {
  const routes = new Map<string, RouteCounts>()
  metrics.read({
    name: 'tapeline_http_requests_total',
    help: 'Requests by route and status.',
    type: 'counter',
    values: () => [...routes.values()].flatMap(requestValues),
  })
  metrics.read({
    name: 'tapeline_http_request_seconds',
    help: 'Time from the parsed request to the written answer.',
    type: 'histogram',
    values: () => [...routes.values()].flatMap(durationValues),
  })
  return (route) => {
    const counts = routes.get(route) ?? newCounts(route)
    routes.set(route, counts)
    const { statuses, buckets } = counts
    return (status, seconds) => {
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      let bucket = 0
      while (bucket < SECONDS_BUCKETS.length && seconds > (SECONDS_BUCKETS[bucket] ?? 0)) bucket++
      buckets[bucket] = (buckets[bucket] ?? 0) + 1
      counts.seconds += seconds
    }
  }
}

function newCounts(route: string): RouteCounts {
  return { route, statuses: new Map(), buckets: new Float64Array(SECONDS_BUCKETS.length + 1), seconds: 0 }
}

function requestValues({ route, statuses }: RouteCounts) {
  return [...statuses].map(([status, value]) => ({ labels: { route, status: String(status) }, value }))
}

function durationValues({ route, statuses, buckets, seconds }: RouteCounts) {
  if (statuses.size === 0) return []
  const name = 'tapeline_http_request_seconds'
  let count = 0
  const bounds = [...SECONDS_BUCKETS.map(String), '+Inf'].map((le, index) => {
    count += buckets[index] ?? 0
    return { metricName: `${name}_bucket`, labels: { le, route }, value: count }
  })
  return [
    ...bounds,
    { metricName: `${name}_sum`, labels: { route }, value: seconds },
    { metricName: `${name}_count`, labels: { route }, value: count },
  ]
}
