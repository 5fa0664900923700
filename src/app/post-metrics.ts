/** Delivery attempts by the receiver's answer, and how long they took. */
import type { Environment } from '../core/environment.ts'
import { DurationCounts } from '../kit/duration-counts.ts'
import type { Metrics } from '../kit/metrics.ts'
import type { OpenPoster } from '../webhooks/poster.ts'

export function countedPosters(open: OpenPoster, metrics: Metrics, environment: Environment): OpenPoster {
  const results = new Map<string, number>()
  const durations = new DurationCounts()
  metrics.read({
    name: 'tapeline_delivery_posts_total',
    help: 'Attempts to deliver, by the class of the status that the receiver answered; none: no answer.',
    type: 'counter',
    values: () => [...results].map(([result, value]) => ({ labels: { environment, result }, value })),
  })
  const name = 'tapeline_delivery_post_seconds'
  metrics.read({
    name,
    help: 'How long an attempt to deliver took.',
    type: 'histogram',
    values: () => durations.values(name, { environment }),
  })
  return (options) => {
    const poster = open(options)
    return {
      ...poster,
      async post(url, headers, body, isWanted) {
        const posted = await poster.post(url, headers, body, isWanted)
        const result = posted.status === null ? 'none' : `${Math.floor(posted.status / 100)}xx`
        results.set(result, (results.get(result) ?? 0) + 1)
        durations.observe(posted.durationMs / 1000)
        return posted
      },
    }
  }
}
