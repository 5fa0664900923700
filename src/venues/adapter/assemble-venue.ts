/** The parts that every venue factory assembles in the same way. */
import { redactAddress, redactAddresses } from '../../kit/redact-address.ts'
import type { Channel } from '../channel.ts'
import { createDeadLetters, type DeadLetters } from '../dead-letter.ts'
import { LIVE_LIMITS, type LiveLimits } from '../live/live-limits.ts'
import { type LiveSessionOptions, startLiveSession } from '../live/live-session.ts'
import { checkHistory } from '../rest/check-history.ts'
import { createRestClient, type RestClient, type RestLimits } from '../rest/rest-client.ts'
import type {
  CheckResult,
  HistoryPage,
  HistoryRequest,
  LiveOptions,
  LiveSession,
  VenueDependencies,
  VenueDescription,
  VenueHosts,
} from '../venue.ts'
import { venuePorts } from './real-ports.ts'
import { assertHistory } from './supported.ts'
import { createSymbolMap, type SymbolMap } from './symbol-map.ts'

export interface VenueParts {
  readonly hosts: VenueHosts
  readonly symbols: SymbolMap
  readonly deadLetters: DeadLetters
  readonly client: RestClient
  instrumentOf(symbol: string): string
  /** Refuses a request that the venue cannot answer, and checks every page of the walk against the request. */
  history(request: HistoryRequest, walk: () => AsyncIterable<HistoryPage>): AsyncIterable<HistoryPage>
  listen(
    feed: Pick<LiveSessionOptions, 'routes' | 'polls' | 'protocol' | 'protocolOf' | 'tasks'>,
    options: LiveOptions,
  ): LiveSession
}

export type VenueLimits = { readonly live?: Partial<LiveLimits>; readonly rest?: Partial<RestLimits> }

export function assembleVenue(
  describe: VenueDescription,
  dependencies: VenueDependencies & { limits?: VenueLimits },
  restLimits: Partial<RestLimits> = {},
): VenueParts {
  const { clock } = dependencies
  const { fetch, dial, random, answerClock } = venuePorts(dependencies)
  const hosts = { ...describe.hosts, ...dependencies.hosts }
  const symbols = createSymbolMap(describe.symbols)
  const deadLetters = createDeadLetters({
    venue: describe.name,
    ...(dependencies.onDeadLetter === undefined ? {} : { onLetter: dependencies.onDeadLetter }),
  })
  const client = createRestClient({
    venue: describe.name,
    baseUrl: hosts.rest,
    budgets: describe.budgets,
    fetch,
    clock,
    random,
    limits: { answerClock, ...restLimits, ...dependencies.limits?.rest },
  })
  return {
    hosts,
    symbols,
    deadLetters,
    client,
    instrumentOf(symbol) {
      const name = symbols.toVenue(symbol as Parameters<SymbolMap['toVenue']>[0])
      if (name === undefined) throw new RangeError(`${describe.name} has no symbol ${symbol}`)
      return name
    },
    history(request, walk) {
      assertHistory(describe, request)
      return checkHistory(walk(), request, { describe, deadLetters, clock })
    },
    listen: (feed, options) =>
      startLiveSession({
        ...feed,
        source: describe.source,
        clock,
        random,
        deadLetters,
        dial,
        renewAfterMs: describe.renewAfterMs,
        limits: { ...LIVE_LIMITS, ...dependencies.limits?.live },
        signal: options.signal,
        silenceOf: (channel) => silenceOf(describe, channel, options.maxSilenceMs),
      }),
  }
}

function silenceOf(
  describe: VenueDescription,
  channel: Channel,
  overrides: LiveOptions['maxSilenceMs'],
): number | null {
  const override = overrides?.[channel.topic]
  if (override !== undefined) return override
  const live = describe.live[channel.topic]
  const byInterval =
    channel.interval === undefined ? undefined : live?.maxSilenceByInterval?.[channel.interval]
  return byInterval ?? live?.maxSilenceMs ?? null
}

/**
 * Turns a check of the venue into one line and never throws. The line names only the addresses that were used; an
 * answer that the recorder could not work with (`isUseful: false`) is a failed check.
 */
export async function checkLine(
  describe: VenueDescription,
  asked: readonly string[],
  ask: () => Promise<string | { text: string; isUseful: boolean }>,
): Promise<CheckResult> {
  const venue = describe.name
  const head = `${venue} (${describe.source}) at ${asked.map(redactAddress).join(', ')}`
  const failed = (text: string) => ({ venue, ok: false, line: `${head}: no useful answer: ${text}` })
  try {
    const answer = await ask()
    if (typeof answer === 'string') return { venue, ok: true, line: `${head}: ${answer}` }
    return answer.isUseful ? { venue, ok: true, line: `${head}: ${answer.text}` } : failed(answer.text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return failed(redactAddresses(reason).replaceAll('\n', ' '))
  }
}
