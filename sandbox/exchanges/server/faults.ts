/**
 * Fault switches: what is wrong with a venue right now. Each applies to one venue, optionally to one symbol
 * or channel, for a duration of the injected clock or for a number of hits.
 */
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import type { Clock } from '../../../src/kit/clock.ts'
import type { Venue } from '../world/markets.ts'

/** kind → what it does. Kinds marked REST need `channel: 'rest'` to act on requests instead of sockets. */
export const FAULT_KINDS = {
  drop: 'cuts the sockets, and refuses new ones for durationMs; REST: resets the connection',
  mute: 'frames are lost, the socket stays healthy',
  hang: 'the socket stays open but nothing is sent or answered, not even a pong; REST: no answer',
  reorder: 'neighbouring frames of a stream change places',
  duplicate: 'every frame is sent twice',
  skip: 'the next frame is lost (count: how many)',
  'late-close': 'the closing frame of a candle comes delayMs later',
  'missing-close': 'the closing frame of a candle never comes',
  'rate-limit': 'REST answers 429 with Retry-After',
  ban: 'REST answers 418 with Retry-After',
  'http-error': 'REST answers with `status`',
  skew: 'the clock of the venue is offsetMs ahead (or behind)',
  malformed: 'frames are cut in the middle; REST: bodies are',
} as const

export type FaultKind = keyof typeof FAULT_KINDS

export interface FaultSpec {
  kind: FaultKind
  venue: Venue
  symbol?: AssetSymbol
  /** aggTrade, kline, depth, … as in the stream's name; `rest` for requests. */
  channel?: string
  durationMs?: number
  /** The fault ends after this many hits. `skip` ends after one unless told otherwise. */
  count?: number
  delayMs?: number
  offsetMs?: number
  retryAfterS?: number
  status?: number
}

export interface Fault extends FaultSpec {
  readonly id: number
  readonly startedAtMs: number
  readonly endsAtMs: number | null
  hits: number
}

export interface FaultTarget {
  symbol?: AssetSymbol | undefined
  channel: string
}

export interface Faults {
  set(spec: FaultSpec): Fault
  clear(id?: number): void
  list(): readonly Fault[]
  /** The first active fault of a kind that concerns the target; does not count as a hit. */
  find(kind: FaultKind, venue: Venue, target: FaultTarget): Fault | undefined
  /** As `find`, and counts a hit. */
  hit(kind: FaultKind, venue: Venue, target: FaultTarget): Fault | undefined
  /** The milliseconds by which a venue's clock is off. */
  skewMs(venue: Venue): number
  onSet(listener: (fault: Fault) => void): void
}

export function createFaults(clock: Clock): Faults {
  let active: Fault[] = []
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
      const fault: Fault = {
        ...spec,
        ...(spec.kind === 'skip' ? { count: spec.count ?? 1 } : {}),
        id: nextId++,
        startedAtMs,
        endsAtMs: endOf(spec, startedAtMs),
        hits: 0,
      }
      active.push(fault)
      for (const listener of listeners) listener(fault)
      return fault
    },
    clear(id) {
      active = id === undefined ? [] : active.filter((fault) => fault.id !== id)
    },
    list: current,
    find,
    hit(kind, venue, target) {
      const fault = find(kind, venue, target)
      if (fault !== undefined) fault.hits++
      return fault
    },
    skewMs(venue) {
      if (active.length === 0) return 0
      return current().reduce(
        (sum, fault) => (fault.kind === 'skew' && fault.venue === venue ? sum + (fault.offsetMs ?? 0) : sum),
        0,
      )
    },
    onSet: (listener) => void listeners.push(listener),
  }
}

/** Without a duration a fault lasts until cleared; only a cut of the sockets is over at once. */
function endOf(spec: FaultSpec, startedAtMs: number): number | null {
  if (spec.durationMs !== undefined) return startedAtMs + spec.durationMs
  return spec.kind === 'drop' && spec.channel !== 'rest' ? startedAtMs : null
}

const REST_ONLY: readonly FaultKind[] = ['rate-limit', 'ban', 'http-error']

function concerns(fault: Fault, venue: Venue, target: FaultTarget): boolean {
  if (fault.venue !== venue) return false
  if (fault.symbol !== undefined && fault.symbol !== target.symbol) return false
  if (target.channel === 'rest') return fault.channel === 'rest' || REST_ONLY.includes(fault.kind)
  return fault.channel === undefined || fault.channel === target.channel
}
