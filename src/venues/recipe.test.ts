/** The recipe docs/recipes/add-a-venue.md, followed for a toy venue: its five parts and nothing else. */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import Type, { type Static } from 'typebox'
import { restStandIn } from '../../test/venues/rest-stand-in.ts'
import { endAfterTest, endAll, scriptedVenue } from '../../test/venues/scripted-venue.ts'
import { walkAll } from '../../test/venues/walk.ts'
import { systemClock } from '../kit/clock.ts'
import { type Channel, channelKey } from './channel.ts'
import { data, type FeedProtocol, ignored, parseObject, refused } from './frame.ts'
import { notProvided } from './history-range.ts'
import type { Route } from './link.ts'
import type { VENUES } from './list.ts'
import type { Observation, TradeObservation } from './observation.ts'
import { VenueError } from './pager.ts'
import { supportedChannels } from './supported.ts'
import type { SymbolMap } from './symbol-map.ts'
import type { Venue, VenueDependencies, VenueDescription } from './venue.ts'
import { assembleVenue, checkLine } from './venue-parts.ts'
import { createVenueTime } from './venue-time.ts'
import { DecimalText, Millis, wireType } from './wire-type.ts'

afterEach(endAll)

// describe.ts
const describe: VenueDescription = {
  name: 'toy',
  source: 'cexa',
  symbols: { BTC: 'XBT' },
  live: { trades: { via: 'stream', longestSilenceMs: 60_000 } },
  history: {},
  notProvided: { trades: 'the toy remembers nothing' },
  budgets: { weight: { limit: 100, windowMs: 60_000 } },
  hosts: { rest: 'https://toy.example', stream: 'wss://toy.example' },
  renewAfterMs: null,
}

// wire.ts
const TradeSchema = Type.Object({ n: Type.Integer(), coin: Type.String(), px: DecimalText, t: Millis })
const Trade = wireType(TradeSchema)
const Time = wireType(Type.Object({ now: Millis }))

// mapper.ts
function mapTrade(
  wire: Static<typeof TradeSchema>,
  symbol: 'BTC' | 'ETH' | 'SOL' | 'XRP',
  receivedMs: number,
): TradeObservation {
  const key = String(wire.n)
  return {
    kind: 'trade',
    source: 'cexa',
    symbol,
    instrument: wire.coin,
    venueTimeMs: wire.t,
    receivedMs,
    key,
    id: key,
    price: wire.px,
    size: '1',
    side: 'buy',
  }
}

// feed.ts
const routesOf = (channels: readonly Channel[], host: string, symbols: SymbolMap): Route[] => [
  {
    name: 'toy',
    url: `${host}/feed`,
    channels,
    greeting: channels.map((each) => `listen ${symbols.toVenue(each.symbol)}`),
  },
]
const createReader = (symbols: SymbolMap): FeedProtocol => ({
  accepts: false,
  heartbeat: null,
  greetingPaceMs: 0,
  read(text, receivedMs) {
    const message = parseObject(text)
    if (message === undefined) return refused('malformed')
    if (!Trade.is(message)) return refused('wrong_shape')
    const symbol = symbols.fromVenue(message.coin)
    if (symbol === undefined) return ignored('not recorded')
    return data(channelKey({ dataset: 'trades', symbol }), mapTrade(message, symbol, receivedMs))
  },
})

// venue.ts, with history.ts' one question inside
function createToy(dependencies: VenueDependencies): Venue {
  const parts = assembleVenue(describe, dependencies)
  const venueTime = createVenueTime({
    clock: dependencies.clock,
    async askVenue(signal) {
      const answer = await parts.pager.ask({ path: '/time', weight: 1 }, signal)
      if (!Time.is(answer.value))
        throw new VenueError('/time: an answer of unknown shape', { isFinal: false })
      return { venueMs: answer.value.now, roundTripMs: answer.roundTripMs }
    },
  })
  return {
    describe,
    deadLetters: parts.deadLetters,
    live(channels, options) {
      const routes = routesOf(supportedChannels(describe, channels), parts.hosts.stream, parts.symbols)
      return parts.listen({ routes, polls: [], protocol: createReader(parts.symbols) }, options)
    },
    async *history(request) {
      yield notProvided(request.range)
    },
    witness: async () => undefined,
    book: async () => {
      throw new VenueError('the toy has no book', { isFinal: true })
    },
    serverTime: ({ signal }) => venueTime.ask(signal),
    check: ({ signal }) =>
      checkLine(describe, parts.hosts, async () => `its clock says ${(await venueTime.ask(signal)).venueMs}`),
  }
}

test('a toy venue made after the recipe is heard, asked and checked like the others', async () => {
  const line: (typeof VENUES)['hyperliquid'] = createToy
  const sockets = await scriptedVenue({
    onMessage(visit, text) {
      if (text !== 'listen XBT') return
      const frames = [
        { n: 1, coin: 'XBT', px: '5.5', t: 7 },
        { n: 1, coin: 'XBT', px: '5.5', t: 7 },
        { n: 2, coin: 'DOGE', px: '1', t: 8 },
        { odd: 1 },
        { n: 3, coin: 'XBT', px: '5.6', t: 9 },
      ]
      for (const frame of frames) visit.socket.send(JSON.stringify(frame))
    },
  })
  const rest = await restStandIn(() => ({ now: 12 }))
  const venue = line({ clock: systemClock, hosts: { rest: rest.url, stream: sockets.url } })
  const session = venue.live([{ dataset: 'trades', symbol: 'BTC' }], { signal: AbortSignal.timeout(5_000) })
  endAfterTest(() => session.close())
  const seen: Observation[] = []
  for await (const observation of session) {
    seen.push(observation)
    if (observation.kind === 'trade' && observation.id === '3') break
  }
  assert.deepEqual(
    seen.map((each) => each.kind),
    ['connected', 'subscribed', 'trade', 'damaged', 'trade'],
  )
  assert.deepEqual(venue.deadLetters.counts(), { wrong_shape: 1 })
  const range = { fromMs: 0, toMs: 5 }
  assert.deepEqual((await walkAll(venue, { dataset: 'trades', symbol: 'BTC', range })).missing, [range])
  const check = await venue.check({ signal: AbortSignal.timeout(2_000) })
  assert.equal(check.line, `toy (cexa) at ${rest.url}: its clock says 12`)
})
