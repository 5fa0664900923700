/** Collects the events of one write. Rows refer to an event by its position in the batch. */
import type { Network } from '../core/chain/network.ts'
import { type EventData, newEvent } from '../events/event.ts'
import { type EventKind, PARSED_KINDS, type ParsedKind } from '../events/kinds.ts'
import type { ExactJson } from '../kit/exact-json.ts'
import type { ParsedTransaction } from '../parser/parse-transaction.ts'
import type { NewEvent } from '../store/events.ts'
import { transactionAddresses } from './index-address.ts'

export interface EventBatch {
  readonly events: NewEvent[]
  /** Returns the event's position in the batch. */
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

/** Adds the events for a transaction's tags; called once per stage. */
export function addParsedEvents(
  batch: EventBatch,
  parsed: ParsedTransaction,
  stage: 'mempool' | 'accepted',
): void {
  for (const [tag, kind] of Object.entries(PARSED_KINDS) as [keyof typeof PARSED_KINDS, ParsedKind][]) {
    const detail = parsed.details[tag]
    if (detail === undefined) continue
    const { tx_id, tags, outputs } = parsed
    // The detail is the parser's object; its members are described with the tags.
    const data = { tx_id, stage, tags, detail: detail as unknown as Record<string, ExactJson>, outputs }
    batch.add(kind, data, transactionAddresses(parsed))
  }
}
