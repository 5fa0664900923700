/**
 * An event as stream frames and deliveries carry it, and the data of each kind. Amounts and scores are integers that
 * may exceed 2^53, so they are bigints in memory and plain digits in the JSON text.
 */
import { type ExactJson, writeExact } from '../kit/exact-json.ts'
import type { NewEvent } from '../store/events.ts'
import type { EventDataShape } from './event-schema.ts'
import type { EventKind } from './kinds.ts'

/** The types of the schemas with exact integers; the text of an event is written from these. */
type Exact<T> = T extends number ? number | bigint : T extends object ? { [K in keyof T]: Exact<T[K]> } : T
export type EventData = { [K in EventKind]: Exact<EventDataShape[K]> }

export interface EventParts<K extends EventKind> {
  kind: K
  network: string
  createdAtMs: number
  /** The addresses that the event concerns; empty for chain kinds. */
  addresses?: readonly string[]
  data: EventData[K]
}

/** The event in the form that the log takes, serialised once here. The log adds the id and the sequence number. */
export function newEvent<K extends EventKind>(parts: EventParts<K>): NewEvent {
  const { kind, network, createdAtMs, addresses = [], data } = parts
  const created = new Date(createdAtMs).toISOString()
  const tail = `"kind":"${kind}","network":${JSON.stringify(network)},"created_at":"${created}","addresses":${JSON.stringify(addresses)},"data":${writeExact(data as ExactJson)}}`
  return { kind, addresses, createdAtMs, tail }
}
