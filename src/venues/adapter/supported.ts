/**
 * Checks requests against a venue's description, so that nothing the venue does not offer reaches its socket or REST
 * API.
 */
import { type Channel, channelKey } from '../channel.ts'
import type { HistoryRequest, LiveDescription, VenueDescription } from '../venue.ts'

/** Returns the channels without duplicates, or throws a RangeError that names the first one the venue does not have. */
export function supportedChannels(description: VenueDescription, channels: readonly Channel[]): Channel[] {
  const byKey = new Map<string, Channel>()
  for (const channel of channels) {
    const live = Object.hasOwn(description.live, channel.topic) ? description.live[channel.topic] : undefined
    if (
      live === undefined ||
      !hasSymbol(description, channel.symbol) ||
      !hasInterval(live, channel.interval)
    ) {
      throw new RangeError(`${description.name} has no live channel ${channelKey(channel)}`)
    }
    byKey.set(channelKey(channel), channel)
  }
  return [...byKey.values()]
}

/**
 * Throws a RangeError for a symbol or an interval that the venue does not have. An unsupported topic is not an error.
 */
export function assertHistory(description: VenueDescription, request: HistoryRequest): void {
  const { topic, symbol, interval, range } = request
  const history = description.history[topic]
  const known = history?.intervals
  const isIntervalWrong =
    known === undefined
      ? topic === 'candles' && interval === undefined
      : interval === undefined
        ? topic === 'candles'
        : !known.includes(interval)
  if (!hasSymbol(description, symbol) || isIntervalWrong) {
    throw new RangeError(`${description.name} has no history of ${topic} ${symbol} ${interval ?? ''}`.trim())
  }
  if (!(range.toMs > range.fromMs)) throw new RangeError(`empty range ${range.fromMs}..${range.toMs}`)
}

/** Every live channel of a venue: each combination of topic, symbol and interval. */
export function allChannels(description: VenueDescription): Channel[] {
  const symbols = Object.keys(description.symbols) as Channel['symbol'][]
  return (Object.keys(description.live) as Channel['topic'][]).flatMap((topic) => {
    const intervals = description.live[topic]?.intervals
    return symbols.flatMap((symbol): Channel[] =>
      intervals === undefined
        ? [{ topic, symbol }]
        : intervals.map((interval) => ({ topic, symbol, interval })),
    )
  })
}

function hasSymbol(description: VenueDescription, symbol: string): boolean {
  return Object.hasOwn(description.symbols, symbol)
}

function hasInterval(live: LiveDescription, interval: Channel['interval']): boolean {
  if (live.intervals === undefined) return interval === undefined
  return interval !== undefined && live.intervals.includes(interval)
}
