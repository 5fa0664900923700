/**
 * What a venue reaches the outside world through, with real defaults: network, random numbers, and response timeouts.
 */
import { type Clock, systemClock } from '../../kit/clock.ts'
import { dialWebSocket } from '../live/dial-web-socket.ts'
import { fetchOverHttp } from '../rest/fetch-over-http.ts'
import type { Fetch } from '../rest/http.ts'
import type { Dial, VenueDependencies } from '../venue.ts'

interface VenuePorts {
  readonly fetch: Fetch
  readonly dial: Dial
  readonly random: () => number
  /** Real responses take real time, even if the data follows another clock. */
  readonly answerClock: Clock
}

export function venuePorts({ fetch, dial, random, clock }: VenueDependencies): VenuePorts {
  return {
    fetch: fetch ?? fetchOverHttp,
    dial: dial ?? dialWebSocket,
    random: random ?? Math.random,
    answerClock: fetch === undefined ? systemClock : clock,
  }
}
