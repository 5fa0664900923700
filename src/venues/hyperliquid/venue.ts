/** Hyperliquid behind the venue port. */

import { assembleVenue, checkLine, type VenueLimits } from '../adapter/assemble-venue.ts'
import { supportedChannels } from '../adapter/supported.ts'
import type { Channel } from '../channel.ts'
import { ratesKnownTo } from '../due-rate.ts'
import type { Poll } from '../live/poll.ts'
import { EXCHANGE_ANSWERS } from '../rest/rest-client.ts'
import { createVenueTime } from '../rest/venue-time.ts'
import type { Venue, VenueDependencies } from '../venue.ts'
import { hyperliquidDescription as describe } from './describe.ts'
import { createHyperliquidReader, sendSubscriptions, socketRoutesOf } from './feed.ts'
import { askCoins, askNewestFunding, askServerTime, askWitness, walkHistory } from './history.ts'
import { createListedCoins } from './listed-coins.ts'

export function createHyperliquid(dependencies: VenueDependencies & { limits?: VenueLimits }): Venue {
  const parts = assembleVenue(describe, dependencies, EXCHANGE_ANSWERS)
  const venueTime = createVenueTime({
    clock: dependencies.clock,
    askVenue: (signal) => askServerTime(parts, signal),
  })
  const rest = { ...parts, venueTime }
  let unlisted = (): ReadonlySet<string> => new Set()
  const whereIs = (symbol: Channel['symbol']) => ({
    source: 'perpdex' as const,
    symbol,
    instrument: parts.instrumentOf(symbol),
  })

  function pollOf(channel: Channel): Poll {
    const where = whereIs(channel.symbol)
    const everyMs = describe.live[channel.topic]?.everyMs ?? 120_000
    const request = (signal: AbortSignal) => askNewestFunding(rest, where, signal)
    return { channel, everyMs, request, observedTo: ratesKnownTo }
  }

  return {
    describe,
    deadLetters: parts.deadLetters,
    get notices() {
      return [...unlisted()].map((coin) => ({
        venue: describe.name,
        code: 'coin_not_listed' as const,
        line: `hyperliquid does not list ${coin} any more; it is not recorded until it is listed again.`,
      }))
    },
    sentWeight: () => parts.client.stats().sent,
    live(channels, options) {
      const wanted = supportedChannels(describe, channels)
      const isPolled = (channel: Channel) => describe.live[channel.topic]?.via === 'poll'
      const streamed = wanted.filter((channel) => !isPolled(channel))
      const coinOf = ({ symbol }: Channel) => parts.instrumentOf(symbol)
      const listed = createListedCoins({
        coins: [...new Set(streamed.map(coinOf))],
        ask: (signal) => askCoins(rest, signal),
        clock: dependencies.clock,
      })
      unlisted = () => listed.unlisted
      const subscribed = () => streamed.filter((channel) => !listed.unlisted.has(coinOf(channel)))
      const routes = socketRoutesOf(subscribed, parts.hosts.stream, parts.symbols)
      const polls = wanted.filter(isPolled).map(pollOf)
      const tasks = listed.tasks((coins, io) =>
        sendSubscriptions(
          streamed.filter((channel) => coins.has(coinOf(channel))),
          parts.symbols,
          io,
        ),
      )
      return parts.listen({ routes, polls, tasks, protocol: createHyperliquidReader(parts.symbols) }, options)
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
