/**
 * Fault switches of the simulated venues: what is wrong right now. A fault concerns one venue, optionally one symbol,
 * channel or provider, and lasts for a duration on the sandbox's clock, for a number of hits, or until it is cleared.
 */
import { type AssetSymbol, parseSymbol } from '../../src/core/symbol.ts'
import type { Clock } from '../../src/kit/clock.ts'

/**
 * Maps a kind to its effect. Kinds that act on both sockets and requests need `channel: 'rest'` (or gamma, clob, data)
 * for requests.
 */
const COMMON_FAULTS = {
  drop: 'cuts the sockets and refuses new ones for durationMs; REST: resets the connection',
  mute: 'frames are lost, the socket stays healthy',
  hang: 'the socket stays open, but nothing is sent or answered, not even a pong; REST: no answer',
  reorder: 'neighbouring frames of a stream change places',
  duplicate: 'every frame is sent twice',
  malformed: 'frames are cut in the middle; REST: bodies are',
  'unfit-value': 'the first price of the next frame is negative (count: how many); REST: of every body',
  'wrong-time': 'the times of the next frame are wrong by offsetMs, a day by default (count: how many)',
  skip: 'the next frame is lost (count: how many)',
  late: 'frames come delayMs later; those after the fault overtake them',
  'unknown-message': 'a message of a kind that nobody knows comes before the next frame (count: how many)',
  'rate-limit': 'REST answers 429, with Retry-After where the venue has it (retryAfterS 0: without)',
  'http-error': 'REST answers with `status`',
  maintenance: 'sockets are closed with 1001 and refused with 503, REST answers 503; without a channel both',
  stale: 'REST answers what was true delayMs ago; times and statuses are right',
  partial: 'lists in REST answers end after half of their rows; a cursor goes on behind the last one sent',
  empty: 'lists in REST answers have no rows, and no page follows',
  'other-range': 'REST answers for a time (or ids) offsetMs away from what was asked for',
  'other-symbol': 'REST answers for another symbol, where the answer names it',
  delisted:
    'exchanges: the symbol is unknown and silent; prediction venues: markets that begin meanwhile are not listed',
  skew: 'the clock of the venue is offsetMs ahead (or behind)',
}
export const EXCHANGE_FAULTS = {
  ...COMMON_FAULTS,
  'late-close': 'the closing frame of a candle comes delayMs later',
  'missing-close': 'the closing frame of a candle never comes',
  'late-quiet':
    'spot, futures: REST has candles of a minute and longer without a trade only delayMs after their end, streams never',
  ban: 'REST answers 418 with Retry-After',
  'zero-fill': 'perp: a fill of size 0 comes before the next trade (count: how many)',
}
export const PREDICTION_FAULTS = {
  ...COMMON_FAULTS,
  'zero-fill': 'a trade of size 0 comes before the next trade (count: how many)',
  'frozen-book': 'book and trade frames of a symbol stop; the socket, its pongs and REST go on',
  'lost-resolved': 'market_resolved is never sent',
  'late-resolution': 'markets that would settle now do so delayMs later',
  'sequence-gap': 'the next numbered frame is lost (count: how many)',
  'wrong-shape': 'the next change of a book lacks its price, with its number in order (count: how many)',
  'rejected-key': 'sockets are refused with 401, as with a key that was revoked',
  'crossed-book': 'the next book change puts a bid on the ask (count: how many)',
  'lying-provider': 'a provider (all without `provider`) answers with prices 3 % too high',
  reorg:
    'rounds are of blocks that the chain replaces when it ends; `fork` says how they differ (with `provider`: as that one sees the chain)',
  'chain-halt': 'no blocks and no rounds (with `provider`: as that one sees the chain)',
}
type FaultKind = keyof typeof EXCHANGE_FAULTS | keyof typeof PREDICTION_FAULTS

/**
 * How rounds in replaced blocks differ from the ones that stay; some have another price too.
 *
 *   early   some seconds earlier
 *   late    some seconds later
 *   twice   early in the first half of the fault, late in the second: the chain replaces its blocks twice
 *   phase   they are the first rounds of the next phase, which may not come for a long time
 */
export type ForkKind = 'early' | 'late' | 'twice' | 'phase'

export type FaultVenue = 'spot' | 'futures' | 'perp' | 'polymarket' | 'kalshi' | 'ethereum'

export interface FaultSpec<Venue extends FaultVenue = FaultVenue> {
  kind: FaultKind
  venue: Venue
  symbol?: AssetSymbol
  /**
   * A channel, event type or topic of a socket; `rest`, or one REST service: gamma, clob, data, open-interest,
   * agg-trades, candle-history, funding-history, recent-trades.
   */
  channel?: string
  /** Index of the RPC provider. */
  provider?: number
  durationMs?: number
  /** The fault ends after this many hits. Faults of "the next frame" end after one by default. */
  count?: number
  delayMs?: number
  offsetMs?: number
  retryAfterS?: number
  status?: number
  /** Of a reorganisation; `early` without it. */
  fork?: ForkKind
}

export interface Fault extends FaultSpec {
  readonly id: number
  readonly startedAtMs: number
  /** Null if it lasts until it is cleared. */
  endsAtMs: number | null
  hits: number
}

export interface FaultTarget {
  symbol?: AssetSymbol | undefined
  channel: string
  /** The REST service of a request. */
  service?: string
  provider?: number
}

export type FaultSwitches = ReturnType<typeof createFaults>

const ONCE: readonly FaultKind[] = [
  'unfit-value',
  'wrong-time',
  'skip',
  'unknown-message',
  'zero-fill',
  'sequence-gap',
  'wrong-shape',
  'crossed-book',
]
/** These concern requests even without a REST channel. */
const OF_REQUESTS: readonly FaultKind[] = [
  'rate-limit',
  'ban',
  'http-error',
  'maintenance',
  'stale',
  'partial',
  'empty',
  'other-range',
  'other-symbol',
  'late-quiet',
]
const REST_CHANNELS = [
  ...['rest', 'gamma', 'clob', 'data', 'open-interest', 'agg-trades'],
  ...['candle-history', 'funding-history', 'recent-trades'],
]
const MAX_HISTORY = 200

export function createFaults(clock: Clock) {
  let active: Fault[] = []
  const past: Fault[] = []
  let nextId = 1
  const listeners: ((fault: Fault) => void)[] = []

  function current(): Fault[] {
    if (active.length === 0) return active
    const nowMs = clock.now()
    active = active.filter(
      (fault) =>
        (fault.endsAtMs === null || nowMs < fault.endsAtMs) &&
        fault.hits < (fault.count ?? Number.POSITIVE_INFINITY),
    )
    return active
  }

  const find = (kind: FaultKind, venue: FaultVenue, target: FaultTarget): Fault | undefined =>
    active.length === 0
      ? undefined
      : current().find((fault) => fault.kind === kind && concerns(fault, venue, target))

  return {
    set(spec: FaultSpec): Fault {
      const startedAtMs = clock.now()
      const fault: Fault = {
        ...spec,
        ...(ONCE.includes(spec.kind) && !isRest(spec) ? { count: spec.count ?? 1 } : {}),
        id: nextId++,
        startedAtMs,
        endsAtMs: endOf(spec, startedAtMs),
        hits: 0,
      }
      active.push(fault)
      past.push(fault)
      if (past.length > MAX_HISTORY) past.shift()
      for (const listener of listeners) listener(fault)
      return fault
    },
    clear(id?: number) {
      const nowMs = clock.now()
      for (const fault of active)
        if ((id === undefined || fault.id === id) && (fault.endsAtMs === null || fault.endsAtMs > nowMs))
          fault.endsAtMs = nowMs
      active = id === undefined ? [] : active.filter((fault) => fault.id !== id)
    },
    list: current,
    /** The first active fault of a kind that concerns the target; does not count as a hit. */
    find,
    /** Like `find`, but counts a hit. */
    hit(kind: FaultKind, venue: FaultVenue, target: FaultTarget): Fault | undefined {
      const fault = find(kind, venue, target)
      if (fault !== undefined) fault.hits++
      return fault
    },
    /** Faults of a kind, active or past, newest last, because their effect on the past remains. */
    history: (kind: FaultKind, venue: FaultVenue): readonly Fault[] =>
      past.length === 0 ? past : past.filter((fault) => fault.kind === kind && fault.venue === venue),
    /** The milliseconds by which a venue's clock is ahead. */
    skewMs(venue: FaultVenue) {
      if (active.length === 0) return 0
      const skews = current().filter((fault) => fault.kind === 'skew' && fault.venue === venue)
      return skews.reduce((sum, { offsetMs }) => sum + (offsetMs ?? 0), 0)
    },
    onSet: (listener: (fault: Fault) => void) => void listeners.push(listener),
  }
}

/** Without a duration a fault lasts until it is cleared, except that cutting the sockets is over at once. */
function endOf(spec: FaultSpec, startedAtMs: number): number | null {
  if (spec.durationMs !== undefined) return startedAtMs + spec.durationMs
  return spec.kind === 'drop' && !isRest(spec) ? startedAtMs : null
}

/** The simulated chain has no sockets. */
const isRestVenue = (venue: FaultVenue): boolean => venue === 'ethereum'

export const isRest = (spec: FaultSpec): boolean =>
  isRestVenue(spec.venue) || (spec.channel !== undefined && REST_CHANNELS.includes(spec.channel))

function concerns(fault: Fault, venue: FaultVenue, target: FaultTarget): boolean {
  if (fault.venue !== venue) return false
  if (fault.symbol !== undefined && fault.symbol !== target.symbol) return false
  if (fault.provider !== undefined && fault.provider !== target.provider) return false
  if (target.channel !== 'rest')
    return !isRest(fault) && (fault.channel === undefined || fault.channel === target.channel)
  if (fault.channel === undefined) return OF_REQUESTS.includes(fault.kind) || isRestVenue(venue)
  return fault.channel === 'rest' || fault.channel === target.service
}

const NUMBERS = ['provider', 'durationMs', 'count', 'delayMs', 'offsetMs', 'retryAfterS', 'status'] as const

/** Every field is checked, because a fault that silently does nothing would make a test pass for the wrong reason. */
export function parseFault(
  text: string,
  known: { kinds: Partial<Record<FaultKind, string>>; venues: readonly FaultVenue[] },
): FaultSpec {
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null) throw new RangeError('a fault is an object')
  const { kind, venue, symbol, channel, ...rest } = value as Record<string, unknown>
  const unknown = Object.keys(rest).find((key) => !NUMBERS.some((name) => name === key))
  if (unknown !== undefined) throw new RangeError(`unknown field ${unknown}`)
  const kinds = Object.keys(known.kinds) as FaultKind[]
  const spec = { kind: kinds.find((one) => one === kind), venue: known.venues.find((one) => one === venue) }
  if (spec.kind === undefined) throw new RangeError(`kind must be one of ${kinds.join(', ')}`)
  if (spec.venue === undefined) throw new RangeError(`venue must be one of ${known.venues.join(', ')}`)
  const parsed = typeof symbol === 'string' ? parseSymbol(symbol) : undefined
  if (symbol !== undefined && parsed === undefined) throw new RangeError('unknown symbol')
  if (channel !== undefined && typeof channel !== 'string') throw new RangeError('channel must be text')
  const wrong = Object.entries(rest).find(([, number]) => !Number.isFinite(number))
  if (wrong !== undefined) throw new RangeError(`${wrong[0]} must be a number`)
  return {
    ...{ kind: spec.kind, venue: spec.venue },
    ...(parsed === undefined ? {} : { symbol: parsed }),
    ...(channel === undefined ? {} : { channel }),
    ...rest,
  }
}
