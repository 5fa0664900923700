import { BLOCKS_PER_SECOND } from '../core/chain/network.ts'
import { DAY_MS } from '../core/time.ts'
import { CHAIN_KINDS, EVENT_KINDS, type EventKind } from '../events/kinds.ts'
import type { Clock } from '../kit/clock.ts'
import { nextTurn } from '../kit/time-slices.ts'
import type { EventStore } from '../store/events.ts'
import { CREDITS_PER_EVENT } from './credits.ts'

/** How many events of a kind to expect per day, and what delivering them costs. */
export interface ExpectedKind {
  readonly kind: EventKind
  /** For the whole chain; null if unknown. */
  readonly eventsPerDay: number | null
  readonly creditsPerDay: number | null
  /**
   * `measured` from the event log, `declared` from the network's block rate, `addresses` if it depends on the
   * addresses.
   */
  readonly basis: 'measured' | 'declared' | 'addresses' | 'unknown'
}

/** How long a measurement is reused, because the rates of a chain change slowly and every form requests them. */
const FRESH_MS = 30_000
const MEASURED_MS = 60_000
/** A shorter log is not representative. */
const MIN_MEASURED_MS = 10_000
/** A longer pause counts as an outage, during which no events were logged. */
const MAX_PAUSE_MS = 2_000
const MAX_EVENTS = 10_000
const EVENTS_PER_READ = 1_000
const SIGNIFICANT_DIGITS = 3
/** Its rate depends on the addresses that a webhook selects, so a figure for the whole chain would not help. */
const OF_ADDRESSES: EventKind = 'utxos_changed'

export function createExpectedEvents(deps: {
  events: Pick<EventStore, 'after' | 'bounds' | 'seqBefore'>
  clock: Clock
}): () => Promise<ExpectedKind[]> {
  const { events, clock } = deps
  let known: { kinds: Promise<ExpectedKind[]>; atMs: number } | undefined

  async function measure(): Promise<ExpectedKind[]> {
    const nowMs = clock.now()
    const { newestSeq, oldestSeq } = await events.bounds()
    const since = await events.seqBefore(nowMs - MEASURED_MS)
    let afterSeq = Math.max(since, newestSeq - MAX_EVENTS, oldestSeq - 1)
    // If the log begins later or holds more events than are counted, the measurement starts with its first event.
    let lastMs = afterSeq === since && since >= oldestSeq ? nowMs - MEASURED_MS : undefined
    let spanMs = 0
    const pass = (toMs: number) => {
      spanMs += Math.min(Math.max(0, toMs - (lastMs ?? toMs)), MAX_PAUSE_MS)
      lastMs = Math.max(lastMs ?? toMs, toMs)
    }
    const counts = new Map<string, number>()
    for (let more = true; more; ) {
      // An embedded log is read on this thread.
      await nextTurn()
      const page = await events.after({ afterSeq, untilSeq: newestSeq, limit: EVENTS_PER_READ })
      for (const { kind, createdAtMs } of page.events) {
        counts.set(kind, (counts.get(kind) ?? 0) + 1)
        pass(createdAtMs)
      }
      more = page.more && page.upToSeq > afterSeq
      afterSeq = page.upToSeq
    }
    if (lastMs !== undefined) pass(nowMs)
    const perDay = (kind: EventKind) =>
      spanMs < MIN_MEASURED_MS || counts.size === 0
        ? undefined
        : Number((((counts.get(kind) ?? 0) / spanMs) * DAY_MS).toPrecision(SIGNIFICANT_DIGITS))
    return EVENT_KINDS.map((kind) => expectedOf(kind, perDay(kind)))
  }

  return () => {
    if (known === undefined || clock.now() - known.atMs >= FRESH_MS) {
      const asked = { kinds: measure(), atMs: clock.now() }
      // After a failure the next caller measures again.
      asked.kinds.catch(() => {
        if (known === asked) known = undefined
      })
      known = asked
    }
    return known.kinds
  }
}

function expectedOf(kind: EventKind, measured: number | undefined): ExpectedKind {
  if (kind === OF_ADDRESSES) return { kind, eventsPerDay: null, creditsPerDay: null, basis: 'addresses' }
  const declared = (CHAIN_KINDS as readonly EventKind[]).includes(kind)
    ? (BLOCKS_PER_SECOND * DAY_MS) / 1_000
    : null
  const eventsPerDay = measured ?? declared
  return {
    kind,
    eventsPerDay,
    creditsPerDay: eventsPerDay === null ? null : eventsPerDay * CREDITS_PER_EVENT,
    basis: measured !== undefined ? 'measured' : declared === null ? 'unknown' : 'declared',
  }
}
