/** Law 8: every event that a webhook selects was accepted by its receiver, is pending, or failed after every try. */
import type { DeliveryRecord, JobsStore } from '../../../src/store/jobs.ts'
import type { GivenDelivery } from './judge-credits.ts'
import { type Receiver, wishesAt } from './receivers.ts'
import type { LogTruth } from './truth.ts'
import { RETRY_DELAYS_MS, selects } from './world.ts'

export interface WebhookFacts {
  readonly id: string
  readonly receiver: Receiver
  /** Events that need not be delivered: planned while it was switched off, or dropped before they were planned. */
  readonly optional: { readonly afterSeq: number; upToSeq: number | undefined }[]
  /** How far events were planned when it was last seen switched on. */
  plannedSeq?: number
}

const PAGE = 500
/** A due delivery is tried within this time: a claim has to expire, and a breaker has to let it through again. */
const TRIED_WITHIN_MS = 150_000
/** A delivery of an event that was just written may still be in progress. */
const NEW_MS = 120_000

export async function judgeDeliveries(parts: {
  jobs: JobsStore
  truth: LogTruth
  facts: readonly WebhookFacts[]
  nowMs: number
}): Promise<{ wrong: string[]; given: GivenDelivery[]; acceptedByDeleted: number }> {
  const { jobs, truth, facts, nowMs } = parts
  await truth.readOn()
  const wrong: string[] = []
  const given: GivenDelivery[] = []
  let acceptedByDeleted = 0
  for (const { id, receiver, optional } of facts) {
    const accepted = new Set(receiver.accepted.flatMap(({ eventIds }) => eventIds))
    if (receiver.deletedMs !== undefined) {
      // Its pending deliveries and its history were deleted with it.
      acceptedByDeleted += accepted.size
      continue
    }
    const records = await allDeliveries(jobs, id)
    const recordsOf = Map.groupBy(records, ({ eventId }) => eventId)
    for (const record of records)
      given.push({
        id: record.id,
        atMs: record.lastAttemptAtMs ?? 0,
        isAccepted: accepted.has(record.eventId),
        isDelivered: record.state === 'delivered',
      })
    for (const event of truth.events) {
      const own = recordsOf.get(event.id) ?? []
      if (own.length > 1)
        wrong.push(`8 the event ${event.seq} has ${own.length} deliveries to ${receiver.url}`)
      const [record] = own
      if (record?.state === 'delivered' && !accepted.has(event.id))
        wrong.push(
          `8 the event ${event.seq} counts as delivered to ${receiver.url}, which has never accepted it`,
        )
      const text = receiver.accepted.length === 0 ? undefined : parts.truth.bySeq(event.seq)?.text
      if (text === undefined && accepted.has(event.id))
        wrong.push(`8 the event ${event.id} is not in the log`)
      if (accepted.has(event.id) || event.createdAtMs > nowMs - NEW_MS) continue
      if (!wishesAt(receiver, event.seq).every((wish) => selects(wish, event))) continue
      const isOptional = optional.some(
        ({ afterSeq, upToSeq = Number.POSITIVE_INFINITY }) => event.seq > afterSeq && event.seq <= upToSeq,
      )
      if (record === undefined) {
        if (!isOptional) wrong.push(`8 the event ${event.seq} was never planned for ${receiver.url}`)
      } else if (record.state === 'failed') {
        if (record.attempts < RETRY_DELAYS_MS.length + 1)
          wrong.push(`8 the event ${event.seq} was given up after ${record.attempts} tries`)
      } else if (record.state === 'pending' && (record.nextAttemptAtMs ?? 0) < nowMs - TRIED_WITHIN_MS)
        wrong.push(
          `8 the event ${event.seq} for ${receiver.url} is due since ${nowMs - (record.nextAttemptAtMs ?? 0)} ms and is not tried`,
        )
    }
  }
  return { wrong: wrong.slice(0, 10), given, acceptedByDeleted }
}

async function allDeliveries(jobs: JobsStore, subscriptionId: string): Promise<DeliveryRecord[]> {
  const all: DeliveryRecord[] = []
  for (let before: string | undefined; ; ) {
    const page = await jobs.deliveries({
      subscriptionId,
      limit: PAGE,
      ...(before === undefined ? {} : { before }),
    })
    all.push(...page)
    if (page.length < PAGE) return all
    before = page.at(-1)?.place
  }
}
