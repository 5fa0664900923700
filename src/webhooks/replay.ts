import { ApiError } from '../core/errors.ts'
import type { EventKind } from '../events/kinds.ts'
import { filtersOf } from '../events/selection.ts'
import { nextTurn } from '../kit/time-slices.ts'
import type { EventStore } from '../store/events.ts'
import type { JobsStore, SubscriptionRecord } from '../store/jobs.ts'
import type { Credits } from './credits.ts'

/** Sending events again: what the log still has of a range is planned as new deliveries. */
export interface ReplayDeps {
  readonly store: Pick<JobsStore, 'enqueue' | 'backlog'>
  readonly events: Pick<EventStore, 'after' | 'bounds' | 'seqBefore'>
  readonly credits: Pick<Credits, 'available'>
  /** How far the log is planned: what comes after is delivered anyway. */
  readonly plannedSeq: () => Promise<number>
  /** Jobs were written for it. */
  readonly onPlanned: (subscriptionId: string) => void
}

/** Numbers are (after, up to], times [since, until). Without an end it goes as far as the log is planned. */
export type ReplayRange = ({ readonly afterSeq: number } | { readonly sinceMs: number }) & {
  readonly upToSeq?: number
  readonly untilMs?: number
}

export interface EventReplay {
  /** New deliveries. */
  readonly events: number
  /** Events of the range that are pending anyway. */
  readonly alreadyPending: number
  readonly afterSeq: number
  readonly upToSeq: number
  /** Where to continue when the range was longer than one call replays. */
  readonly nextAfterSeq: number | null
  /** The log no longer reaches back to the start of the range. */
  readonly gap: boolean
}

const REPLAY_EVENTS = 10_000
/** Events examined in one call: those already pending count too. */
const MAX_REPLAY_EXAMINED = 2 * REPLAY_EVENTS
/** Reads of the log in one call: a rare kind can be absent from all of a long log. */
const MAX_REPLAY_READS = 500
/** With so many pending, for one webhook or for the account, nothing is replayed. */
const MAX_REPLAY_BACKLOG = { subscription: 10_000, account: 50_000 }
const BACKLOG_RETRY_S = 60
const REPLAY_PAGE = 500
const REPLAY_PAGE_BYTES = 1024 * 1024
/** As far as credits and what is already pending allow. */
export async function replayEvents(
  deps: ReplayDeps,
  subscription: SubscriptionRecord,
  range: ReplayRange,
): Promise<EventReplay> {
  const afterSeq = 'afterSeq' in range ? range.afterSeq : await deps.events.seqBefore(range.sinceMs)
  const { oldestSeq } = await deps.events.bounds()
  const filters = filtersOf({ kinds: subscription.kinds as EventKind[], addresses: subscription.addresses })
  const { upToSeq = Number.POSITIVE_INFINITY, untilMs } = range
  const beforeEnd = untilMs === undefined ? upToSeq : Math.min(upToSeq, await deps.events.seqBefore(untilMs))
  const untilSeq = Math.min(await deps.plannedSeq(), beforeEnd)
  const most = await roomFor(deps, subscription)
  let cursor = afterSeq
  let count = 0
  let looked = 0
  let more = cursor < untilSeq
  for (let reads = 0; more && count < most && looked < MAX_REPLAY_EXAMINED; reads++) {
    if (reads === MAX_REPLAY_READS) break
    // An embedded log is read in this thread.
    await nextTurn()
    const limit = Math.min(REPLAY_PAGE, most - count)
    const page = await deps.events.after({
      afterSeq: cursor,
      untilSeq,
      filters,
      limit,
      maxBytes: REPLAY_PAGE_BYTES,
    })
    const jobs = page.events.map(({ seq }) => ({ subscriptionId: subscription.id, seq }))
    const planned = jobs.length === 0 ? [] : await deps.store.enqueue({ events: page.events, jobs })
    count += planned.filter(({ isNew }) => isNew).length
    looked += planned.length
    cursor = Math.max(cursor, page.upToSeq)
    more = page.more
  }
  if (count > 0) deps.onPlanned(subscription.id)
  return {
    events: count,
    alreadyPending: looked - count,
    afterSeq,
    upToSeq: more ? cursor : Math.max(afterSeq, untilSeq),
    nextAfterSeq: more ? cursor : null,
    gap: afterSeq + 1 < oldestSeq,
  }
}

/** Each delivery costs a credit: only as many are planned as the credits cover. */
async function roomFor(deps: ReplayDeps, subscription: SubscriptionRecord): Promise<number> {
  const { id: subscriptionId, accountId } = subscription
  const { subscription: ofOne, account: ofAll } = MAX_REPLAY_BACKLOG
  const waiting = await deps.store.backlog({ subscriptionId, accountId, limit: ofAll })
  const room = Math.min(ofOne - waiting.ofSubscription, ofAll - waiting.ofAccount)
  if (room < 1) {
    const which = waiting.ofSubscription >= ofOne ? 'this webhook' : 'the webhooks of this account'
    throw new ApiError(
      'rate_limited',
      `So many events wait for ${which} already that nothing is replayed before they are delivered.`,
      { reason: 'replay_backlog', retry_after: BACKLOG_RETRY_S },
      [['Retry-After', String(BACKLOG_RETRY_S)]],
    )
  }
  const paid = (await deps.credits.available(subscription)) - waiting.ofAccount
  if (paid < 1) {
    const text = 'The credits that are left do not pay for more deliveries than those that wait already.'
    throw new ApiError('credits_exhausted', text, { reason: 'balance' })
  }
  return Math.min(REPLAY_EVENTS, room, paid)
}
