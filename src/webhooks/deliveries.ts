import { ApiError } from '../core/errors.ts'
import { formatTime } from '../core/time.ts'
import type { EventStore } from '../store/events.ts'
import type { DeliveryRecord, JobsStore } from '../store/jobs.ts'
import { ownSubscription } from './find-subscriptions.ts'

/** Single deliveries of a subscription: what was sent, what was received, and redelivery. */
export interface Deliveries {
  find(accountId: string, subscriptionId: string, deliveryId: string): Promise<FullDelivery>
  /** A finished delivery is repeated as a new one with the same event; a pending one is tried at once. */
  redeliver(accountId: string, subscriptionId: string, deliveryId: string): Promise<Redelivery>
}

export interface FullDelivery extends DeliveryRecord {
  readonly request: {
    readonly url: string
    /** As sent with the last attempt; empty before the first. */
    readonly headers: readonly HeaderField[]
    /** The event as it was sent (in a batch, its element of the array); null if the log no longer has it. */
    readonly body: { readonly text: string; readonly bytes: number; readonly truncated: boolean } | null
  }
  /** The response to the last attempt; null if there was none. */
  readonly response: { readonly headers: readonly HeaderField[]; readonly body: string | null } | null
}

interface HeaderField {
  readonly name: string
  readonly value: string
}

interface Redelivery {
  /** The delivery that sends the event now. */
  readonly deliveryId: string
  readonly eventId: string
}

/** How much of a body is shown. */
const SHOWN_BODY_CHARACTERS = 65_536

export function createDeliveries(deps: {
  store: JobsStore
  events: Pick<EventStore, 'byId'>
  /** Called when jobs of the subscription are due. */
  onDue: (subscriptionId: string) => void
}): Deliveries {
  const { store, events } = deps

  const eventOf = async (delivery: DeliveryRecord) =>
    (await store.eventText(delivery)) ?? (await events.byId(delivery.eventId))

  async function mustFind(accountId: string, subscriptionId: string, deliveryId: string) {
    const subscription = await ownSubscription(store, accountId, subscriptionId)
    const found = await store.delivery(subscriptionId, deliveryId)
    if (found !== undefined) return { found, subscription }
    throw new ApiError('not_found', `There is no delivery ${deliveryId.slice(0, 64)}.`, { param: 'delivery' })
  }

  return {
    async find(accountId, subscriptionId, deliveryId) {
      const { found, subscription } = await mustFind(accountId, subscriptionId, deliveryId)
      const text = (await eventOf(found))?.text
      return {
        ...found,
        request: {
          url: subscription.url,
          headers: headersOf(found.lastRequestHead),
          body: text === undefined ? null : shownBody(text),
        },
        response:
          found.lastStatus === null
            ? null
            : { headers: headersOf(found.lastResponseHead), body: found.lastResponse },
      }
    },
    async redeliver(accountId, subscriptionId, deliveryId) {
      const { found } = await mustFind(accountId, subscriptionId, deliveryId)
      const { eventId } = found
      if (found.state === 'pending' && (await store.retryNow(subscriptionId, deliveryId))) {
        deps.onDue(subscriptionId)
        return { deliveryId, eventId }
      }
      const event = await eventOf(found)
      if (event === undefined) {
        throw new ApiError('not_found', 'The event log no longer has this event.', { reason: 'forgotten' })
      }
      const jobs = [{ subscriptionId, seq: event.seq }]
      const [again] = await store.enqueue({ events: [event], jobs })
      deps.onDue(subscriptionId)
      return { deliveryId: again?.deliveryId ?? deliveryId, eventId }
    },
  }
}

function shownBody(text: string) {
  const truncated = text.length > SHOWN_BODY_CHARACTERS
  const shown = truncated ? text.slice(0, SHOWN_BODY_CHARACTERS) : text
  return { text: shown, bytes: Buffer.byteLength(text), truncated }
}

/** Parses header lines, with or without a status line before them; the last line may be cut off. */
function headersOf(head: string | null): HeaderField[] {
  return (head ?? '').split('\r\n').flatMap((line) => {
    const colon = line.indexOf(':')
    if (colon <= 0 || line.startsWith('HTTP/')) return []
    return [{ name: line.slice(0, colon), value: line.slice(colon + 1).trim() }]
  })
}

/** A delivery as callers and users see it. */
export function deliveryFields(record: DeliveryRecord) {
  return {
    id: record.id,
    event_id: record.eventId,
    seq: record.seq,
    kind: record.kind,
    state: record.state,
    attempts: record.attempts,
    last_status: record.lastStatus,
    last_error: record.lastError,
    last_attempt_at: timeOrNull(record.lastAttemptAtMs),
    duration_ms: record.durationMs,
    next_attempt_at: timeOrNull(record.nextAttemptAtMs),
    created_at: formatTime(record.createdAtMs),
  }
}

const timeOrNull = (timeMs: number | null) => (timeMs === null ? null : formatTime(timeMs))
