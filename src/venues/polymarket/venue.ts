/** Polymarket behind the venue port. */
import type { AssetSymbol } from '../../core/symbol.ts'
import { assembleVenue, checkLine, type VenueLimits } from '../adapter/assemble-venue.ts'
import { venuePorts } from '../adapter/real-ports.ts'
import { supportedChannels } from '../adapter/supported.ts'
import type { DeadLetters } from '../dead-letter.ts'
import { createRestClient, VenueError } from '../rest/rest-client.ts'
import { headerTime, inBackground, type RestAccess } from '../rest/typed-request.ts'
import { createVenueTime } from '../rest/venue-time.ts'
import type { RequestBudget } from '../rest/weight-budget.ts'
import type { Venue, VenueDependencies } from '../venue.ts'
import { assembleLive } from './assemble-live.ts'
import { createPolymarketCatalogue } from './catalogue.ts'
import { polymarketDescription as describe, type PolymarketHosts } from './describe.ts'
import { DoubtedTrades } from './doubted-trades.ts'
import { askBook, askTrades, type PolymarketRest, walkHistory } from './history.ts'
import type { Leg } from './mapper.ts'
import { type ReferenceOptions, referenceRelay } from './reference-relay.ts'

/** The venue is moving from one interface to the next; these settings choose which one is used. */
export interface PolymarketOptions extends ReferenceOptions {
  /** Version of the data interface that lists trades. */
  readonly dataVersion?: 'v1' | 'v2'
}

export interface PolymarketDependencies extends VenueDependencies {
  readonly hosts?: Partial<PolymarketHosts>
  readonly polymarket?: PolymarketOptions
  readonly limits?: VenueLimits
}

export function createPolymarket(dependencies: PolymarketDependencies): Venue {
  const { clock } = dependencies
  const hosts: PolymarketHosts = { ...describe.hosts, ...dependencies.hosts }
  const parts = assembleVenue(describe, dependencies)
  const rest = restOf(hosts, dependencies, parts.deadLetters)
  const backgroundRest = {
    ...rest,
    gamma: inBackground(rest.gamma),
    clob: inBackground(rest.clob),
    data: inBackground(rest.data),
  }
  const { random } = venuePorts(dependencies)
  const catalogue = createPolymarketCatalogue(rest)
  const reference = referenceRelay(dependencies.polymarket, hosts)

  async function askTime(signal: AbortSignal) {
    const answer = await rest.clob.client.request({ path: '/time', weight: 1 }, signal)
    const reported = Number(answer.value)
    const venueMs = Number.isFinite(reported) && reported > 0 ? reported * 1_000 : headerTime(answer)
    return { venueMs, roundTripMs: answer.roundTripMs }
  }
  const venueTime = createVenueTime({ clock, askVenue: askTime })

  /** The Up token of the running window that ends first. */
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

  return {
    describe: reference.isOn ? describe : { ...describe, live: withoutReference },
    deadLetters: parts.deadLetters,
    sentWeight: () => [rest.gamma, rest.clob, rest.data].flatMap(({ client }) => client.stats().sent),
    ...(reference.notice === undefined ? {} : { notices: [reference.notice] }),
    live(channels, options) {
      const wanted = supportedChannels(describe, channels)
      return parts.listen(assembleLive(wanted, { hosts, catalogue, rest, clock, random, reference }), options)
    },
    history: (request, { signal }) =>
      parts.history(request, () =>
        walkHistory(request.isUrgent === true ? rest : backgroundRest, request, catalogue.get, signal),
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

/** One client per host, because each host has its own limit. */
function restOf(
  hosts: PolymarketHosts,
  dependencies: PolymarketDependencies,
  deadLetters: DeadLetters,
): PolymarketRest {
  const { clock, limits } = dependencies
  const { fetch, random, answerClock } = venuePorts(dependencies)
  const accessTo = (baseUrl: string, budget: RequestBudget | undefined): RestAccess => {
    const client = createRestClient({
      venue: describe.name,
      baseUrl,
      budgets: budget === undefined ? {} : { questions: budget },
      fetch,
      clock,
      random,
      limits: { answerClock, ...limits?.rest },
    })
    return { client, deadLetters }
  }
  const { gamma, clob, data } = describe.budgets
  return {
    gamma: accessTo(hosts.rest, gamma),
    clob: accessTo(hosts.clob, clob),
    data: accessTo(hosts.data, data),
    now: () => clock.now(),
    doubts: new DoubtedTrades(),
    dataVersion: dependencies.polymarket?.dataVersion ?? 'v2',
  }
}
