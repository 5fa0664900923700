/**
 * An event as stream frames and deliveries carry it, and the data of each kind. Amounts and scores are
 * integers that may exceed 2^53: in memory they are bigints, in the JSON text plain digits.
 */
import { type ExactJson, writeExact } from '../kit/exact-json.ts'
import type { NewEvent } from '../store/events.ts'
import type { EventDataShape } from './event-schema.ts'
import type { EventKind } from './kinds.ts'

/** The schemas' types with exact integers, from which the text of an event is written. */
type Exact<T> = T extends number ? number | bigint : T extends object ? { [K in keyof T]: Exact<T[K]> } : T
export type EventData = { [K in EventKind]: Exact<EventDataShape[K]> }

export interface EventParts<K extends EventKind> {
  kind: K
  network: string
  createdAtMs: number
  /** The addresses it concerns; empty for chain kinds. */
  addresses?: readonly string[]
  data: EventData[K]
}

/** The event as the log takes it, serialised here once; the log adds id and number. */
export function newEvent<K extends EventKind>(parts: EventParts<K>): NewEvent {
  const { kind, network, createdAtMs, addresses = [], data } = parts
  const created = new Date(createdAtMs).toISOString()
  const tail = `"kind":"${kind}","network":${JSON.stringify(network)},"created_at":"${created}","addresses":${JSON.stringify(addresses)},"data":${writeExact(data as ExactJson)}}`
  return { kind, addresses, createdAtMs, tail }
}
