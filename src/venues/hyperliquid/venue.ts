/** Hyperliquid behind the venue port. */

import { assembleVenue, checkLine, type VenueLimits } from '../adapter/assemble-venue.ts'
import { supportedChannels } from '../adapter/supported.ts'
import type { Channel } from '../channel.ts'
import type { Poll } from '../live/poll.ts'
import { createVenueTime } from '../rest/venue-time.ts'
import type { Venue, VenueDependencies } from '../venue.ts'
import { hyperliquidDescription as describe } from './describe.ts'
import { createHyperliquidReader, socketRoutesOf } from './feed.ts'
import { askCoins, askNewestFunding, askServerTime, askWitness, walkHistory } from './history.ts'

export function createHyperliquid(dependencies: VenueDependencies & { limits?: VenueLimits }): Venue {
  const parts = assembleVenue(describe, dependencies)
  const venueTime = createVenueTime({
    clock: dependencies.clock,
    askVenue: (signal) => askServerTime(parts, signal),
  })
  const rest = { ...parts, venueTime }
  const whereIs = (symbol: Channel['symbol']) => ({
    source: 'perpdex' as const,
    symbol,
    instrument: parts.instrumentOf(symbol),
  })

  function pollOf(channel: Channel): Poll {
    const where = whereIs(channel.symbol)
    const everyMs = describe.live[channel.topic]?.everyMs ?? 120_000
    return { channel, everyMs, request: (signal) => askNewestFunding(rest, where, signal) }
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
      return parts.listen({ routes, polls, protocol: createHyperliquidReader(parts.symbols) }, options)
    },
    history: (request, { signal }) =>
      parts.history(request, () => walkHistory(rest, request, whereIs(request.symbol), signal)),
    witness: (channel, { signal }) => askWitness(rest, channel, whereIs(channel.symbol), signal),
    check: ({ signal }) =>
      checkLine(describe, [parts.hosts.rest], async () => {
        const time = await venueTime.request(signal)
        const coins = await askCoins(rest, signal)
        const list = Object.values(describe.symbols).map(
          (coin) => `${coin} ${coins.has(coin) ? 'listed' : 'NOT LISTED'}`,
        )
        const isUseful = Object.values(describe.symbols).every((coin) => coins.has(coin))
        const text = `answered in ${time.roundTripMs} ms, clock offset ${time.offsetMs} ms; ${list.join(', ')}`
        return { text, isUseful }
      }),
  }
}
