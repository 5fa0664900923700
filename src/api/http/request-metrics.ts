import { DurationCounts } from '../../kit/duration-counts.ts'
import type { Metrics } from '../../kit/metrics.ts'

interface RouteCounts {
  route: string
  statuses: Map<number, number>
  durations: DurationCounts
}

/**
 * Counts and durations per route. A request only increments numbers; labels and texts are built when the metrics are
 * read, which happens far less often.
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
  const name = 'tapeline_http_request_seconds'
  metrics.read({
    name,
    help: 'Time from the parsed request to the written answer.',
    type: 'histogram',
    values: () => [...routes.values()].flatMap(({ route, durations }) => durations.values(name, { route })),
  })
  return (route) => {
    const counts = routes.get(route) ?? { route, statuses: new Map(), durations: new DurationCounts() }
    routes.set(route, counts)
    const { statuses, durations } = counts
    return (status, seconds) => {
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      durations.observe(seconds)
    }
  }
}

function requestValues({ route, statuses }: RouteCounts) {
  return [...statuses].map(([status, value]) => ({ labels: { route, status: String(status) }, value }))
}
