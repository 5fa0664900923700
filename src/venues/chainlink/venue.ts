/** Chainlink behind the venue port: an oracle has answers instead of trades, and nodes instead of an exchange. */
import type { AssetSymbol } from '../../core/symbol.ts'
import { assembleVenue, checkLine, type VenueLimits } from '../adapter/assemble-venue.ts'
import { venuePorts } from '../adapter/real-ports.ts'
import { supportedChannels } from '../adapter/supported.ts'
import { notProvided } from '../rest/history-range.ts'
import { createRestClient, REST_LIMITS, VenueError } from '../rest/rest-client.ts'
import { inBackground } from '../rest/typed-request.ts'
import type { HistoryPage, HistoryRequest, Venue, VenueDependencies } from '../venue.ts'
import { decodeAddressWord, SELECTORS, wordsOf } from './abi.ts'
import { CHAINLINK_TIMES, CHAINS, type Chain, chainlinkDescriptionOf, DEFAULT_CHAIN } from './describe.ts'
import { listenToRounds } from './feed.ts'
import { walkRounds } from './history.ts'
import type { OracleFeed } from './mapper.ts'
import { createPhaseChanges } from './phase-changes.ts'
import { createProvider } from './provider.ts'
import { createQuorum } from './quorum.ts'
import { createUnsettledRounds } from './unsettled-rounds.ts'

export interface ChainlinkOptions {
  readonly chain?: Chain
  /** JSON-RPC addresses; the chain's public ones by default. */
  readonly providers?: readonly string[]
  /** How many nodes must agree; by default 2, or 1 if only one is given. */
  readonly quorum?: number
  /** Proxy contracts other than the chain's own. */
  readonly proxies?: Readonly<Partial<Record<AssetSymbol, string>>>
  readonly pollEveryMs?: number
}

export interface ChainlinkDependencies extends VenueDependencies {
  readonly chainlink?: ChainlinkOptions
  readonly limits?: VenueLimits
}

/** An answer that was given recently is found within this many blocks. */
const WITNESS_BLOCKS = 2_000
const DEFAULT_DECIMALS = 8

export function createChainlink(dependencies: ChainlinkDependencies): Venue {
  const { clock } = dependencies
  const settings = dependencies.chainlink ?? {}
  const chain = settings.chain ?? DEFAULT_CHAIN
  const own = chainlinkDescriptionOf(chain)
  const describe = settings.proxies === undefined ? own : { ...own, symbols: settings.proxies }
  const parts = assembleVenue(describe, dependencies)
  const { deadLetters } = parts
  const { fetch, random, answerClock } = venuePorts(dependencies)
  const urls =
    settings.providers ??
    (dependencies.hosts?.rest === undefined ? CHAINS[chain].providers : [parts.hosts.rest])
  const nodes = urls.map((url) => {
    const client = createRestClient({
      venue: describe.name,
      baseUrl: url,
      budgets: describe.budgets,
      fetch,
      clock,
      random,
      // All nodes are asked at the same time, so a slow one is given up rather than asked again and again.
      limits: {
        ...REST_LIMITS,
        answerClock,
        tries: 2,
        answerWithinMs: CHAINLINK_TIMES.answerWithinMs,
        ...dependencies.limits?.rest,
      },
    })
    return { host: new URL(url).host, asker: { client, deadLetters } }
  })
  const providers = nodes.map(({ host, asker }) => createProvider(host, asker))
  const faults = { deadLetters, now: () => clock.now() }
  const quorum = createQuorum(providers, settings.quorum, faults)
  const quorumOfThePast = createQuorum(
    nodes.map(({ host, asker }) => createProvider(host, inBackground(asker))),
    settings.quorum,
    faults,
  )
  const decimals = new Map<AssetSymbol, number>()
  const phases = createPhaseChanges()
  const unsettled = createUnsettledRounds(CHAINS[chain].settlesAfterMs)

  async function feedOf(symbol: AssetSymbol, signal: AbortSignal): Promise<OracleFeed> {
    const proxy = parts.instrumentOf(symbol)
    let known = decimals.get(symbol)
    if (known === undefined) {
      const answer = await quorum.call({ target: proxy, data: SELECTORS.decimals }, signal)
      if (answer === undefined)
        throw new VenueError(`chainlink: no agreement on ${symbol}`, { isFinal: false })
      // A feed that reverts was removed from the chain; it is still requested, in case it comes back.
      const reported = answer === null ? undefined : Number(wordsOf(answer)?.[0] ?? -1n)
      known = reported !== undefined && reported >= 0 && reported <= 36 ? reported : DEFAULT_DECIMALS
      if (reported !== undefined) decimals.set(symbol, known)
    }
    return { symbol, proxy, decimals: known }
  }

  /** Asks the nodes in order and takes the first answer. */
  async function fromAny<T>(ask: (provider: (typeof providers)[number]) => Promise<T>): Promise<T> {
    let fault: unknown = new VenueError('chainlink: no node is configured', { isFinal: true })
    for (const provider of providers) {
      try {
        return await ask(provider)
      } catch (error) {
        fault = error
      }
    }
    throw fault
  }

  async function* walk(request: HistoryRequest, signal: AbortSignal): AsyncGenerator<HistoryPage> {
    if (request.topic !== 'oracle_rounds') return yield notProvided(request.range)
    const feed = await feedOf(request.symbol, signal)
    const now = () => clock.now()
    const asked = request.isUrgent === true ? quorum : quorumOfThePast
    yield* walkRounds(asked, feed, request.range, { now, deadLetters, phases, unsettled }, signal)
  }

  return {
    describe,
    deadLetters,
    sentWeight: () => nodes.flatMap(({ asker }) => asker.client.stats().sent),
    live(channels, options) {
      const wanted = supportedChannels(describe, channels)
      const tasks = listenToRounds({
        channels: wanted,
        quorum,
        feedOf,
        phases,
        unsettled,
        clock,
        ...(settings.pollEveryMs === undefined ? {} : { pollEveryMs: settings.pollEveryMs }),
      })
      const protocol = {
        read: () => ({ kind: 'ignored' as const, reason: 'no socket' }),
        accepts: false,
        heartbeat: null,
        greetingPaceMs: 0,
      }
      return parts.listen({ routes: [], polls: [], protocol, tasks }, options)
    },
    history: (request, { signal }) => parts.history(request, () => walk(request, signal)),
    /**
     * Reads the logs of the aggregator behind the proxy. Its address is read every time, because the logs of the old
     * one would end silently after a rotation.
     */
    async witness(channel, { signal }) {
      const proxy = parts.instrumentOf(channel.symbol)
      const logs = await fromAny(async (provider) => {
        const answer = await provider.call({ target: proxy, data: SELECTORS.aggregator }, signal)
        const aggregator = answer === null ? undefined : decodeAddressWord(answer)
        return aggregator === undefined ? [] : provider.answerLogs(aggregator, WITNESS_BLOCKS, signal)
      })
      const newest = logs.at(-1)
      if (newest === undefined) return { newestMs: null, newestId: null }
      return { newestMs: newest.updatedAt * 1_000, newestId: Number(newest.round) }
    },
    check: ({ signal }) =>
      checkLine(describe, urls, async () => {
        const symbols = Object.keys(describe.symbols) as AssetSymbol[]
        const feeds = symbols.map((symbol) => ({ proxy: parts.instrumentOf(symbol), after: 0n }))
        const rounds = await quorum.newest(feeds, signal)
        const list = symbols.map(
          (symbol, index) => `${symbol} ${rounds[index]?.round === null ? 'UNAVAILABLE' : 'answers'}`,
        )
        const isUseful = quorum.answering >= quorum.needed
        const text = `${quorum.answering} of ${providers.length} nodes on ${chain} answer, ${quorum.needed} must agree; ${list.join(', ')}`
        return { text, isUseful }
      }),
  }
}
