/** Polymarket behind the venue port. */
import type { AssetSymbol } from '../../core/symbol.ts'
import { assembleVenue, checkLine, fetchOverHttp, type VenueLimits } from '../adapter/assemble-venue.ts'
import { supportedChannels } from '../adapter/supported.ts'
import type { Channel } from '../channel.ts'
import type { SocketRoute } from '../live/socket.ts'
import type { SessionIo } from '../live/venue-tasks.ts'
import { createRestClient, VenueError } from '../rest/rest-client.ts'
import { headerTime, inBackground, type RestAccess } from '../rest/typed-request.ts'
import { createVenueTime } from '../rest/venue-time.ts'
import type { Venue, VenueDependencies } from '../venue.ts'
import { type BoltCredentials, boltOrNotice, boltRoute, createBoltReader } from './bolt-feed.ts'
import { createPolymarketCatalogue } from './catalogue.ts'
import {
  polymarketDescription as describe,
  POLYMARKET_STREAM_PATH,
  POLYMARKET_TIMES,
  type PolymarketHosts,
} from './describe.ts'
import { createTokenFeed } from './feed.ts'
import { followWindows } from './follow-windows.ts'
import { askBook, askTrades, walkHistory } from './history.ts'
import type { Leg } from './mapper.ts'
import { createReferenceReader, referenceRoute, USUAL_TOPICS } from './reference-feed.ts'
import { routeName } from './repair-books.ts'
import { createRepairs, type Repairs } from './repairs.ts'

/** The venue is moving from one interface to the next; which one is used is a setting. */
export interface PolymarketOptions {
  /** Version of the data interface that lists trades. */
  readonly dataVersion?: 'v1' | 'v2'
  /** Which relay gives the reference price: the open one, the one that wants a key, or none. */
  readonly reference?: 'rtds' | 'bolt' | 'none'
  /** Topics of the open relay. */
  readonly referenceTopics?: readonly string[]
  /** For the relay that wants a key. */
  readonly bolt?: Partial<BoltCredentials>
}

export interface PolymarketDependencies extends VenueDependencies {
  readonly hosts?: Partial<PolymarketHosts>
  readonly polymarket?: PolymarketOptions
  readonly limits?: VenueLimits
}

export function createPolymarket(dependencies: PolymarketDependencies): Venue {
  const { clock } = dependencies
  const { gamma: gammaBudget, clob: clobBudget, data: dataBudget } = describe.budgets
  const hosts: PolymarketHosts = { ...describe.hosts, ...dependencies.hosts }
  const parts = assembleVenue(describe, dependencies)
  const { deadLetters } = parts

  /** Each host has a limit of its own. */
  function askerOf(baseUrl: string, budget: typeof gammaBudget): RestAccess {
    const client = createRestClient({
      venue: describe.name,
      baseUrl,
      budgets: budget === undefined ? {} : { questions: budget },
      fetch: dependencies.fetch ?? fetchOverHttp,
      clock,
      random: dependencies.random ?? Math.random,
      ...(dependencies.limits?.rest === undefined ? {} : { limits: dependencies.limits.rest }),
    })
    return { client, deadLetters }
  }
  const rest = {
    gamma: askerOf(hosts.rest, gammaBudget),
    clob: askerOf(hosts.clob, clobBudget),
    data: askerOf(hosts.data, dataBudget),
    now: () => clock.now(),
    dataVersion: dependencies.polymarket?.dataVersion ?? ('v2' as const),
  }
  const { gamma, clob, data } = rest
  const restOfThePast = {
    ...rest,
    gamma: inBackground(gamma),
    clob: inBackground(clob),
    data: inBackground(data),
  }
  const catalogue = createPolymarketCatalogue(rest)
  const relay = dependencies.polymarket?.reference ?? 'rtds'
  const topics = dependencies.polymarket?.referenceTopics ?? USUAL_TOPICS
  const { credentials: bolt, notice } = relay === 'bolt' ? boltOrNotice(dependencies.polymarket?.bolt) : {}

  function referenceRoutes(channels: readonly Channel[]): SocketRoute[] {
    if (channels.length === 0) return []
    if (bolt !== undefined) return [boltRoute(channels, hosts.bolt, bolt)]
    return relay === 'rtds' ? [referenceRoute(channels, hosts.reference, topics)] : []
  }
  const openReference = () => (bolt === undefined ? createReferenceReader(topics) : createBoltReader())

  async function askTime(signal: AbortSignal) {
    const answer = await rest.clob.client.request({ path: '/time', weight: 1 }, signal)
    const reported = Number(answer.value)
    const venueMs = Number.isFinite(reported) && reported > 0 ? reported * 1_000 : headerTime(answer)
    return { venueMs, roundTripMs: answer.roundTripMs }
  }
  const venueTime = createVenueTime({ clock, askVenue: askTime })

  /** The Up token of the shortest running window. */
  async function runningLeg(symbol: AssetSymbol, signal: AbortSignal): Promise<Leg> {
    const find = () => {
      const nowMs = clock.now()
      return catalogue.wanted(symbol, nowMs).find((leg) => leg.startMs <= nowMs && nowMs < leg.endMs)
    }
    if (find() === undefined) await catalogue.refresh(symbol, clock.now(), signal)
    const leg = find()
    if (leg === undefined)
      throw new VenueError(`polymarket has no running window of ${symbol}`, { isFinal: false })
    return leg
  }

  const { reference_price: _reference, ...withoutReference } = describe.live
  const hasReference = relay === 'rtds' || bolt !== undefined

  return {
    describe: hasReference ? describe : { ...describe, live: withoutReference },
    deadLetters,
    ...(notice === undefined ? {} : { notices: [notice] }),
    live(channels, options) {
      const wanted = supportedChannels(describe, channels)
      const isReference = (channel: Channel) => channel.topic === 'reference_price'
      const streamed = wanted.filter((each) => each.topic === 'book' || each.topic === 'trades')
      const symbols = [...new Set(wanted.filter((each) => !isReference(each)).map((each) => each.symbol))]
      const announced = new Set<AssetSymbol>()
      let io: SessionIo | undefined
      const repairs = new Map<AssetSymbol, Repairs>()
      const repairsOf = (symbol: AssetSymbol) => {
        const known = repairs.get(symbol) ?? createRepairs()
        repairs.set(symbol, known)
        return known
      }
      const feeds = new Map(
        symbols.map((symbol) => {
          const actions = {
            send: (frame: string) => void io?.send(routeName(symbol), frame),
            repair: (tokenId: string, reason: 'lost' | 'tick_size') => {
              const waitMs = reason === 'tick_size' ? POLYMARKET_TIMES.bookExpectedMs : 0
              repairsOf(symbol).want(tokenId, clock.now() + waitMs)
            },
            announced: () => void announced.add(symbol),
            resolved: (marketId: string) => catalogue.resolveNow(marketId),
          }
          return [symbol, createTokenFeed(symbol, actions)] as const
        }),
      )
      const marketRoutes = symbols
        .filter((symbol) => streamed.some((channel) => channel.symbol === symbol))
        .map((symbol): SocketRoute => {
          const feed = feeds.get(symbol)
          return {
            name: routeName(symbol),
            url: hosts.stream + POLYMARKET_STREAM_PATH,
            channels: streamed.filter((channel) => channel.symbol === symbol),
            expectsData: () => feed !== undefined && feed.tokens.size > 0,
            get greeting() {
              return feed?.greeting(clock.now()) ?? []
            },
          }
        })
      const routes = [...marketRoutes, ...referenceRoutes(wanted.filter(isReference))]
      const tasks = followWindows({
        feeds,
        repairsOf,
        catalogue,
        rest,
        clock,
        announced,
        channels: wanted.filter((channel) => channel.topic === 'markets'),
        onStart: (session) => {
          io = session
        },
      })
      const protocolOf = (route: SocketRoute) => {
        const feed = [...feeds.values()].find((each) => routeName(each.symbol) === route.name)
        return feed?.openReader() ?? openReference()
      }
      return parts.listen({ routes, polls: [], protocol: openReference(), protocolOf, tasks }, options)
    },
    history: (request, { signal }) =>
      parts.history(request, () =>
        walkHistory(request.isUrgent === true ? rest : restOfThePast, request, catalogue.get, signal),
      ),
    async witness(channel, { signal }) {
      if (channel.topic !== 'book' && channel.topic !== 'trades') return undefined
      const leg = await runningLeg(channel.symbol, signal)
      if (channel.topic === 'book') {
        const { book } = await askBook(rest, leg.tokenId, signal)
        return { newestMs: book.timestamp === undefined ? null : Number(book.timestamp), newestId: null }
      }
      const market = catalogue.get(leg.marketId)
      const asked = market === undefined ? undefined : await askTrades(rest, [market], signal)
      return { newestMs: asked?.trades.at(-1)?.venueTimeMs ?? null, newestId: null }
    },
    check: ({ signal }) =>
      checkLine(describe, [hosts.rest, hosts.clob], async () => {
        const time = await venueTime.request(signal)
        const running = await Promise.all(
          (Object.keys(describe.symbols) as AssetSymbol[]).map(async (symbol) => {
            const legs = await runningLeg(symbol, signal).catch(() => undefined)
            return `${symbol} ${legs === undefined ? 'NO RUNNING WINDOW' : 'running'}`
          }),
        )
        const isUseful = running.some((line) => line.endsWith(' running'))
        const text = `answered in ${time.roundTripMs} ms, clock offset ${time.offsetMs} ms; ${running.join(', ')}`
        return { text, isUseful }
      }),
  }
}
