/**
 * Fault switches of the prediction venues and the chain: what is wrong right now. Each concerns one venue,
 * optionally one symbol, channel or provider, for a duration of the injected clock or for a number of hits.
 */
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import type { Clock } from '../../../src/kit/clock.ts'

export const VENUES = ['polymarket', 'kalshi', 'ethereum'] as const
export type Venue = (typeof VENUES)[number]

/** Kinds without a word on REST act on sockets; with `channel: 'rest'` (or gamma, clob, data) on requests. */
export const FAULT_KINDS = {
  drop: 'cuts the sockets and refuses new ones for durationMs; REST: resets the connection',
  mute: 'frames are lost, the socket stays healthy',
  hang: 'sockets stay open but nothing is sent or answered; REST: no answer',
  reorder: 'neighbouring frames change places',
  duplicate: 'every frame is sent twice',
  malformed: 'frames are cut in the middle; REST: bodies are',
  'rate-limit': 'REST answers 429',
  'http-error': 'REST answers with `status`',
  skew: 'the clock of the venue is offsetMs ahead (or behind)',
  'frozen-book': 'book and trade frames of a symbol stop; the socket, its pongs and REST go on',
  'lost-resolved': 'market_resolved is never sent',
  'late-resolution': 'markets that would settle now do so delayMs later',
  'sequence-gap': 'the next numbered frame is lost (count: how many)',
  'wrong-shape': 'the next change of a book lacks its price, with its number in order (count: how many)',
  'rejected-key': 'sockets are refused with 401, as with a key that was revoked',
  'crossed-book': 'the next book change puts a bid on the ask (count: how many)',
  'lying-provider': 'a provider (all without `provider`) answers with prices 3 % too high',
  'chain-halt': 'no blocks and no rounds (with `provider`: as that one sees the chain)',
} as const
export type FaultKind = keyof typeof FAULT_KINDS

export interface FaultSpec {
  kind: FaultKind
  venue: Venue
  symbol?: AssetSymbol
  /** An event type or topic of a socket; `rest`, or one REST service: gamma, clob, data. */
  channel?: string
  /** Index of the RPC provider. */
  provider?: number
  durationMs?: number
  count?: number
  delayMs?: number
  offsetMs?: number
  status?: number
  retryAfterS?: number
}

export interface Fault extends FaultSpec {
  readonly id: number
  readonly startedAtMs: number
  /** null: until cleared. */
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

export interface Faults {
  set(spec: FaultSpec): Fault
  clear(id?: number): void
  list(): readonly Fault[]
  find(kind: FaultKind, venue: Venue, target: FaultTarget): Fault | undefined
  /** As `find`, and counts a hit. */
  hit(kind: FaultKind, venue: Venue, target: FaultTarget): Fault | undefined
  /** Faults of a kind, over or not, newest last: what they did to the past stays. */
  history(kind: FaultKind, venue: Venue): readonly Fault[]
  /** How far the clock of a venue is ahead. */
  skewMs(venue: Venue): number
  onSet(listener: (fault: Fault) => void): void
}

const ONCE: readonly FaultKind[] = ['sequence-gap', 'wrong-shape', 'crossed-book']
const REST_ONLY: readonly FaultKind[] = ['rate-limit', 'http-error']
const MAX_HISTORY = 200

export function createFaults(clock: Clock): Faults {
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
  const find: Faults['find'] = (kind, venue, target) =>
    active.length === 0
      ? undefined
      : current().find((fault) => fault.kind === kind && concerns(fault, venue, target))

  return {
    set(spec) {
      const startedAtMs = clock.now()
      const isCut = spec.kind === 'drop' && !isRest(spec)
      const fault: Fault = {
        ...spec,
        ...(ONCE.includes(spec.kind) ? { count: spec.count ?? 1 } : {}),
        id: nextId++,
        startedAtMs,
        // Without a duration a fault lasts until cleared; only a cut of the sockets is over at once.
        endsAtMs: spec.durationMs !== undefined ? startedAtMs + spec.durationMs : isCut ? startedAtMs : null,
        hits: 0,
      }
      active.push(fault)
      past.push(fault)
      if (past.length > MAX_HISTORY) past.shift()
      for (const listener of listeners) listener(fault)
      return fault
    },
    clear(id) {
      const nowMs = clock.now()
      for (const fault of active)
        if ((id === undefined || fault.id === id) && (fault.endsAtMs === null || fault.endsAtMs > nowMs))
          fault.endsAtMs = nowMs
      active = id === undefined ? [] : active.filter((fault) => fault.id !== id)
    },
    list: current,
    find,
    hit(kind, venue, target) {
      const fault = find(kind, venue, target)
      if (fault !== undefined) fault.hits++
      return fault
    },
    history: (kind, venue) => past.filter((fault) => fault.kind === kind && fault.venue === venue),
    skewMs(venue) {
      if (active.length === 0) return 0
      const skews = current().filter((fault) => fault.kind === 'skew' && fault.venue === venue)
      return skews.reduce((sum, { offsetMs }) => sum + (offsetMs ?? 0), 0)
    },
    onSet: (listener) => void listeners.push(listener),
  }
}

const REST_CHANNELS = ['rest', 'gamma', 'clob', 'data']
export const isRest = (spec: FaultSpec): boolean =>
  spec.venue === 'ethereum' || (spec.channel !== undefined && REST_CHANNELS.includes(spec.channel))

function concerns(fault: Fault, venue: Venue, target: FaultTarget): boolean {
  if (fault.venue !== venue) return false
  if (fault.symbol !== undefined && fault.symbol !== target.symbol) return false
  if (fault.provider !== undefined && fault.provider !== target.provider) return false
  if (target.channel === 'rest')
    return (
      fault.channel === 'rest' ||
      fault.channel === target.service ||
      (fault.channel === undefined && (REST_ONLY.includes(fault.kind) || venue === 'ethereum'))
    )
  return !isRest(fault) && (fault.channel === undefined || fault.channel === target.channel)
}

/** When a market settles, with the delay that was in force at the time it should have. */
export function delayedMs(faults: Faults, venue: Venue, symbol: AssetSymbol, dueMs: number): number {
  const late = faults
    .history('late-resolution', venue)
    .findLast(
      (fault) =>
        (fault.symbol === undefined || fault.symbol === symbol) &&
        fault.startedAtMs <= dueMs &&
        (fault.endsAtMs === null || dueMs < fault.endsAtMs),
    )
  return late === undefined ? dueMs : dueMs + (late.delayMs ?? 600_000)
}
