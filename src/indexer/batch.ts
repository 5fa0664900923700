/** Collects the events of one write; rows refer to an event by its place in it. */
import type { Network } from '../core/chain/network.ts'
import { type EventData, newEvent } from '../events/event.ts'
import type { EventKind } from '../events/kinds.ts'
import type { NewEvent } from '../store/events.ts'

export interface EventBatch {
  readonly events: NewEvent[]
  /** The event's place in the batch. */
  add<K extends EventKind>(kind: K, data: EventData[K], addresses?: readonly string[]): number
}

export function eventBatch(network: Network, createdAtMs: number): EventBatch {
  const events: NewEvent[] = []
  return {
    events,
    add: (kind, data, addresses = []) =>
      events.push(newEvent({ kind, network, createdAtMs, addresses, data })) - 1,
  }
}
