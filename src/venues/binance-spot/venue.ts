/** Binance spot behind the venue port. */

import { assembleVenue, checkLine, type VenueLimits } from '../adapter/assemble-venue.ts'
import { supportedChannels } from '../adapter/supported.ts'
import { askServerTime, askWitness, type WitnessWeights } from '../binance/history.ts'
import { EXCHANGE_ANSWERS } from '../rest/rest-client.ts'
import { createVenueTime } from '../rest/venue-time.ts'
import type { Venue, VenueDependencies } from '../venue.ts'
import { binanceSpotDescription as describe } from './describe.ts'
import { socketRoutesOf } from './feed.ts'
import { askStatuses, SPOT_API, walkHistory } from './history.ts'
import { createSpotReader } from './mapper.ts'

const WEIGHTS: WitnessWeights = { trades: 4, candles: 2, book: 5 }

export function createBinanceSpot(dependencies: VenueDependencies & { limits?: VenueLimits }): Venue {
  const parts = assembleVenue(describe, dependencies, EXCHANGE_ANSWERS)
  const venueTime = createVenueTime({
    clock: dependencies.clock,
    askVenue: (signal) => askServerTime(parts, SPOT_API, signal),
  })
  const rest = { ...parts, venueTime }
  return {
    describe,
    deadLetters: parts.deadLetters,
    sentWeight: () => parts.client.stats().sent,
    live(channels, options) {
      const wanted = supportedChannels(describe, channels)
      const routes = socketRoutesOf(wanted, parts.hosts.stream, parts.symbols)
      return parts.listen({ routes, polls: [], protocol: createSpotReader(parts.symbols) }, options)
    },
    history: (request, { signal }) =>
      parts.history(request, () => walkHistory(rest, request, parts.instrumentOf(request.symbol), signal)),
    witness: (channel, { signal }) =>
      askWitness(rest, SPOT_API, WEIGHTS, channel, parts.instrumentOf(channel.symbol), signal),
    check: ({ signal }) =>
      checkLine(describe, [parts.hosts.rest], async () => {
        const time = await venueTime.request(signal)
        const statuses = await askStatuses(rest, Object.values(describe.symbols), signal)
        const list = [...statuses].map(([name, status]) => `${name} ${status}`).join(', ')
        return `answered in ${time.roundTripMs} ms, clock offset ${time.offsetMs} ms; ${list}`
      }),
  }
}
