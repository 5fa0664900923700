/** Kalshi behind the venue port. */
import type { AssetSymbol } from '../../core/symbol.ts'
import { assembleVenue, checkLine, type VenueLimits } from '../adapter/assemble-venue.ts'
import { venuePorts } from '../adapter/real-ports.ts'
import { supportedChannels } from '../adapter/supported.ts'
import type { Channel } from '../channel.ts'
import { LIVE_LIMITS } from '../live/live-limits.ts'
import type { SocketRoute } from '../live/socket.ts'
import type { SessionIo } from '../live/venue-tasks.ts'
import { type RestClient, VenueError } from '../rest/rest-client.ts'
import { headerTime, inBackground, requestTyped } from '../rest/typed-request.ts'
import { createVenueTime } from '../rest/venue-time.ts'
import type { HistoryRange, Venue, VenueDependencies } from '../venue.ts'
import { createKalshiCatalogue } from './catalogue.ts'
import {
  kalshiDescription as describe,
  KALSHI_STREAM_PATH,
  KALSHI_TIMES,
  keylessDescription,
  QUESTION_TOKENS,
  REST_PREFIX,
} from './describe.ts'
import { type ContractFeed, createContractFeed } from './feed.ts'
import { followContracts } from './follow-contracts.ts'
import { askTrades, rememberCutoff, walkHistory } from './history.ts'
import { aboutOf } from './mapper.ts'
import { type KalshiCredentials, REJECTED, signedWhereAsked, signerOrNotice } from './sign.ts'
import { ExchangeStatus } from './wire.ts'

/** The credentials are those of an API key; without them there is no stream and everything is polled. */
export interface KalshiOptions extends Partial<KalshiCredentials> {
  /** Whether the stream should quote bids for no at the price of yes. */
  readonly useYesPrice?: boolean
}

export interface KalshiDependencies extends VenueDependencies {
  readonly kalshi?: KalshiOptions
  readonly limits?: VenueLimits
}

export function createKalshi(dependencies: KalshiDependencies): Venue {
  const { clock } = dependencies
  const { signer, notice } = signerOrNotice(dependencies.kalshi, () => clock.now())
  const { fetch: plainFetch, random, answerClock } = venuePorts(dependencies)
  const socket = { ...LIVE_LIMITS.socket, trafficSilenceMs: KALSHI_TIMES.trafficSilenceMs }
  const parts = assembleVenue(describe, {
    ...dependencies,
    fetch: signer === undefined ? plainFetch : signedWhereAsked(plainFetch, signer),
    limits: {
      rest: { answerClock, ...dependencies.limits?.rest },
      live: { socket, ...dependencies.limits?.live },
    },
  })
  const client: RestClient = {
    request: (question, signal) =>
      parts.client.request({ ...question, path: REST_PREFIX + question.path }, signal),
    stats: () => parts.client.stats(),
  }
  const rejected = new Set<AssetSymbol>()
  const noticesNow = () => [
    ...(notice === undefined ? [] : [notice]),
    ...(rejected.size === 0 ? [] : [REJECTED]),
  ]
  const asker = { client, deadLetters: parts.deadLetters, now: () => clock.now() }
  const rest = { ...asker, cutoff: rememberCutoff(asker) }
  const catalogue = createKalshiCatalogue(rest)

  async function askStatus(signal: AbortSignal) {
    const question = { path: '/exchange/status', weight: QUESTION_TOKENS }
    const { value, answer } = await requestTyped(rest, question, ExchangeStatus, signal)
    return { ...value, venueMs: headerTime(answer), roundTripMs: answer.roundTripMs }
  }
  const venueTime = createVenueTime({ clock, askVenue: askStatus })

  function tradedRange(ticker: string): HistoryRange | undefined {
    const market = catalogue.get(ticker)?.market
    if (market?.startTime == null || market.endTime == null) return undefined
    return { fromMs: market.startTime, toMs: market.endTime }
  }

  function routeOf(symbol: AssetSymbol, channels: readonly Channel[], feed: ContractFeed): SocketRoute {
    return {
      name: `contracts:${symbol}`,
      url: parts.hosts.stream + KALSHI_STREAM_PATH,
      channels: channels.filter((channel) => channel.symbol === symbol),
      expectsData: () => feed.isSubscribed,
      headers: () => signer?.headers('GET', KALSHI_STREAM_PATH) ?? {},
      get greeting() {
        return feed.greeting(clock.now())
      },
    }
  }

  /** The contract of a symbol that closes next. */
  async function nearestContract(symbol: AssetSymbol, signal: AbortSignal): Promise<string> {
    if (catalogue.wanted(symbol, clock.now()).length === 0)
      await catalogue.refresh(symbol, clock.now(), signal)
    const [ticker] = catalogue.wanted(symbol, clock.now())
    if (ticker === undefined)
      throw new VenueError(`kalshi has no open contract of ${symbol}`, { isFinal: false })
    return ticker
  }

  return {
    describe: signer === undefined ? keylessDescription : describe,
    deadLetters: parts.deadLetters,
    sentWeight: () => client.stats().sent,
    get notices() {
      return noticesNow()
    },
    live(channels, options) {
      const wanted = supportedChannels(describe, channels)
      const symbols = [...new Set(wanted.map((channel) => channel.symbol))]
      let io: SessionIo | undefined
      const feeds = new Map(
        symbols.map((symbol) => {
          const route = `contracts:${symbol}`
          const actions = {
            send: (frame: string) => void io?.send(route, frame),
            cut: (reason: string) => io?.cut(route, reason),
            lostTrades: (range: HistoryRange) => {
              const about = { ...aboutOf(symbol, '', clock.now()), venueTimeMs: clock.now(), key: null }
              io?.emit(`trades:${symbol}`, { kind: 'trades_lost', ...about, ...range })
            },
            lostFigures: (ticker: string) => {
              const about = { ...aboutOf(symbol, ticker, clock.now()), venueTimeMs: clock.now(), key: null }
              io?.emit(`open_interest:${symbol}`, { kind: 'figures_lost', ...about })
            },
          }
          const useYesPrice = dependencies.kalshi?.useYesPrice ?? false
          return [symbol, createContractFeed(symbol, actions, { useYesPrice, tradedRange })] as const
        }),
      )
      const isKeyless = signer === undefined
      const isPolled = (channel: Channel) => isKeyless || channel.topic === 'markets'
      const streamed = wanted.filter((channel) => !isPolled(channel))
      const routes = [...feeds.values()]
        .filter((feed) => streamed.some((channel) => channel.symbol === feed.symbol))
        .map((feed) => routeOf(feed.symbol, streamed, feed))
      const protocolOf = (route: SocketRoute) => {
        const feed = [...feeds.values()].find((each) => route.name === `contracts:${each.symbol}`)
        if (feed === undefined) throw new RangeError(`no feed of ${route.name}`)
        return feed.openReader()
      }
      const tasks = followContracts({
        feeds,
        catalogue,
        rest,
        clock,
        random,
        isKeyless,
        rejected,
        channels: wanted.filter(isPolled),
        streamed,
        onStart: (session) => {
          io = session
        },
      })
      const [first] = feeds.values()
      if (first === undefined) throw new RangeError('kalshi: no channels')
      return parts.listen({ routes, polls: [], protocol: first.openReader(), protocolOf, tasks }, options)
    },
    history: (request, { signal }) =>
      parts.history(request, () =>
        walkHistory(request.isUrgent === true ? rest : { ...rest, ...inBackground(rest) }, request, signal),
      ),
    async witness(channel, { signal }) {
      if (channel.topic === 'markets') return undefined
      const ticker = await nearestContract(channel.symbol, signal)
      const range = { fromMs: clock.now() - 3_600_000, toMs: clock.now() + 60_000 }
      const trades = await askTrades(rest, { symbol: channel.symbol, ticker }, range, 'live', signal)
      return { newestMs: trades.at(-1)?.venueTimeMs ?? null, newestId: null }
    },
    check: ({ signal }) =>
      checkLine(describe, [parts.hosts.rest], async () => {
        const time = await venueTime.request(signal)
        const status = await askStatus(signal)
        const trading = status.trading_active ? 'trading' : 'NOT TRADING'
        const head = `answered in ${time.roundTripMs} ms, clock offset ${time.offsetMs} ms; ${trading}`
        const notes = noticesNow().map(({ line }) => line)
        return [head, ...(notes.length === 0 ? ['key given'] : notes)].join('; ')
      }),
  }
}
