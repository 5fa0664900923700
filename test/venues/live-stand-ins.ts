import { WebSocket } from 'ws'
import type { VenueDependencies } from '../../src/venues/venue.ts'
import { restStandIn } from './rest-stand-in.ts'
import { scriptedVenue } from './scripted-venue.ts'

/** A loopback host behind the real hosts of a venue: only the last hop is bent, and what was asked for is kept. */
export async function liveStandIns(answer: (path: string, body: string, query: URLSearchParams) => unknown) {
  const sockets = await scriptedVenue()
  const rest = await restStandIn(({ path, body, query }) => answer(path, body, query))
  const dialled: string[] = []
  const fetched: string[] = []
  const hops: Pick<VenueDependencies, 'dial' | 'fetch'> = {
    dial(url) {
      dialled.push(url)
      const { pathname, search } = new URL(url)
      return new WebSocket(sockets.url + pathname + search, { perMessageDeflate: false })
    },
    fetch(url, init) {
      fetched.push(url)
      const { pathname, search } = new URL(url)
      return fetch(rest.url + pathname + search, init)
    },
  }
  return { sockets, rest, dialled, fetched, hops }
}
