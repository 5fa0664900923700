/** What the toy venue of the recipe answers over REST: its time, and a candle for every minute that is asked for. */
import { type RestStandIn, restStandIn } from './rest-stand-in.ts'

const MINUTE_MS = 60_000

export function toyRest(): Promise<RestStandIn> {
  return restStandIn(({ path, query }) => {
    if (path === '/time') return { now: Date.now() }
    const [from, to] = [Number(query.get('from')), Number(query.get('to'))]
    return Array.from({ length: (to - from) / MINUTE_MS }, (_, at) => ({
      t: from + at * MINUTE_MS,
      px: '7.5',
    }))
  })
}
