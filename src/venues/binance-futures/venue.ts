/** Binance USD-M futures behind the venue port. */

import { assembleVenue, checkLine, type VenueLimits } from '../adapter/assemble-venue.ts'
import { supportedChannels } from '../adapter/supported.ts'
import { askServerTime } from '../binance/history.ts'
import type { Channel } from '../channel.ts'
import { ratesKnownTo } from '../due-rate.ts'
import type { Poll } from '../live/poll.ts'
import { EXCHANGE_ANSWERS } from '../rest/rest-client.ts'
import { createVenueTime } from '../rest/venue-time.ts'
import type { Venue, VenueDependencies } from '../venue.ts'
import { binanceFuturesDescription as describe } from './describe.ts'
import { socketRoutesOf } from './feed.ts'
import { askFuturesWitness, askMarkLine, askNewestFunding, FUTURES_API, walkHistory } from './history.ts'
import { createFuturesReader } from './mapper.ts'

export function createBinanceFutures(dependencies: VenueDependencies & { limits?: VenueLimits }): Venue {
  const parts = assembleVenue(describe, dependencies, EXCHANGE_ANSWERS)
  const venueTime = createVenueTime({
    clock: dependencies.clock,
    askVenue: (signal) => askServerTime(parts, FUTURES_API, signal),
  })
  const rest = { ...parts, venueTime }
  const whereIs = (symbol: Channel['symbol']) => ({
    source: describe.source,
    symbol,
    instrument: parts.instrumentOf(symbol),
  })

  function pollOf(channel: Channel): Poll {
    const where = whereIs(channel.symbol)
    const everyMs = describe.live[channel.topic]?.everyMs ?? 60_000
    const request = (signal: AbortSignal) => askNewestFunding(rest, where, signal)
    return { channel, everyMs, request, observedTo: ratesKnownTo }
  }

  return {
    describe,
    deadLetters: parts.deadLetters,
    sentWeight: () => parts.client.stats().sent,
    live(channels, options) {
      const wanted = supportedChannels(describe, channels)
      const isPolled = (channel: Channel) => describe.live[channel.topic]?.via === 'poll'
      const streamed = wanted.filter((channel) => !isPolled(channel))
      const routes = socketRoutesOf(streamed, parts.hosts.stream, parts.symbols)
      const polls = wanted.filter(isPolled).map(pollOf)
      return parts.listen({ routes, polls, protocol: createFuturesReader(parts.symbols) }, options)
    },
    history: (request, { signal }) =>
      parts.history(request, () => walkHistory(rest, request, whereIs(request.symbol), signal)),
    witness: (channel, { signal }) => askFuturesWitness(rest, channel, whereIs(channel.symbol), signal),
    check: ({ signal }) =>
      checkLine(describe, [parts.hosts.rest], async () => {
        const time = await venueTime.request(signal)
        const names = Object.values(describe.symbols)
        const marks = await Promise.all(names.map((name) => askMarkLine(rest, name, signal)))
        return `answered in ${time.roundTripMs} ms, clock offset ${time.offsetMs} ms; ${marks.join(', ')}`
      }),
  }
}
