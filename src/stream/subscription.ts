import { type EventKind, isChainKind } from '../events/kinds.ts'
import type { EventSelection } from '../events/match.ts'
import type { StoredEvent } from '../store/events.ts'

/**
 * One subscription of a stream client.
 *
 *   subscribe ─▶ syncing: reads the log from its position, at the client's pace
 *                   │ reached the hub's position
 *                   ▼
 *                 live: the hub sends the events
 */
export interface StreamSubscription {
  readonly id: string
  readonly selection: Required<EventSelection>
  readonly kinds: ReadonlySet<string>
  readonly addresses: ReadonlySet<string>
  /** All selected events in (fromSeq, sentSeq] were sent. */
  fromSeq: number
  /** Infinity once it is live. */
  sentSeq: number
  /** Cleanup for when it ends: address watches and its registration in the hub. */
  readonly stops: (() => void)[]
  ended: boolean
}

export function newSubscription(
  id: string,
  selection: Required<EventSelection>,
  fromSeq: number,
): StreamSubscription {
  const { kinds, addresses } = selection
  return {
    id,
    selection,
    kinds: new Set(kinds),
    addresses: new Set(addresses),
    fromSeq,
    sentSeq: fromSeq,
    stops: [],
    ended: false,
  }
}

export function isLive({ sentSeq }: StreamSubscription): boolean {
  return sentSeq === Number.POSITIVE_INFINITY
}

function selects(sub: StreamSubscription, event: StoredEvent): boolean {
  if (!sub.kinds.has(event.kind)) return false
  if (sub.addresses.size === 0 || isChainKind(event.kind as EventKind)) return true
  return event.addresses.some((address) => sub.addresses.has(address))
}

/**
 * Whether another subscription of the same client has sent the event, because an event that several of them select is
 * sent once.
 */
export function wasSentByAnother(
  all: Iterable<StreamSubscription>,
  asking: StreamSubscription,
  event: StoredEvent,
): boolean {
  for (const other of all) {
    if (other === asking || event.seq <= other.fromSeq || event.seq > other.sentSeq) continue
    if (selects(other, event)) return true
  }
  return false
}
