import { ApiError } from '../core/errors.ts'
import type { EventKind } from '../events/kinds.ts'
import { filtersOf } from '../events/selection.ts'
import { nextTurn } from '../kit/time-slices.ts'
import type { EventStore } from '../store/events.ts'
import type { JobsStore, SubscriptionRecord } from '../store/jobs.ts'
import type { Credits } from './credits.ts'

/** Sends events again: the events of a range that the log still has are planned as new deliveries. */
export interface ReplayDeps {
  readonly store: Pick<JobsStore, 'enqueue' | 'backlog'>
  readonly events: Pick<EventStore, 'after' | 'bounds' | 'seqBefore'>
  readonly credits: Pick<Credits, 'available'>
  /** How far the log is planned; later events are delivered anyway. */
  readonly plannedSeq: () => Promise<number>
  /** Jobs were written for the subscription. */
  readonly onPlanned: (subscriptionId: string) => void
}

/**
 * Sequence numbers are (after, up to], times are [since, until). Without an end, the range goes as far as the log is
 * planned.
 */
export type ReplayRange = ({ readonly afterSeq: number } | { readonly sinceMs: number }) & {
  readonly upToSeq?: number
  readonly untilMs?: number
}

export interface EventReplay {
  /** Number of new deliveries. */
  readonly events: number
  /** Number of events in the range that are already pending. */
  readonly alreadyPending: number
  readonly afterSeq: number
  readonly upToSeq: number
  /** Where to continue if the range was longer than one call replays. */
  readonly nextAfterSeq: number | null
  /** The log no longer reaches back to the start of the range. */
  readonly gap: boolean
}

const REPLAY_EVENTS = 10_000
/** Events examined in one call, including those that are already pending. */
const MAX_REPLAY_EXAMINED = 2 * REPLAY_EVENTS
/** Reads of the log in one call, because a rare kind can be absent from all of a long log. */
const MAX_REPLAY_READS = 500
/** Nothing is replayed while this many deliveries are pending for the webhook or for the account. */
const MAX_REPLAY_BACKLOG = { subscription: 10_000, account: 50_000 }
const BACKLOG_RETRY_S = 60
const REPLAY_PAGE = 500
const REPLAY_PAGE_BYTES = 1024 * 1024
/**
 * Counting pending deliveries takes longer than planning a page, so it is repeated only after this many pages or new
 * deliveries.
 */
const COUNT_AFTER = { pages: 10, planned: 1_000 }
/** Counts earlier when there is little room left, because other processes replay too. */
const COUNT_AFTER_SHARE = 1 / 4
/**
 * Replays as far as the credits and the pending deliveries allow.
 *
 * @param isGone whether nobody waits for the answer any more; the replay then stops where it is
 */
export async function replayEvents(
  deps: ReplayDeps,
  subscription: SubscriptionRecord,
  range: ReplayRange,
  isGone: () => boolean = () => false,
): Promise<EventReplay> {
  const afterSeq = 'afterSeq' in range ? range.afterSeq : await deps.events.seqBefore(range.sinceMs)
  const { oldestSeq } = await deps.events.bounds()
  const filters = filtersOf({ kinds: subscription.kinds as EventKind[], addresses: subscription.addresses })
  const { upToSeq = Number.POSITIVE_INFINITY, untilMs } = range
  const beforeEnd = untilMs === undefined ? upToSeq : Math.min(upToSeq, await deps.events.seqBefore(untilMs))
  const untilSeq = Math.min(await deps.plannedSeq(), beforeEnd)
  let room = await roomFor(deps, subscription)
  const most = refuseWithout(room)
  let sinceCounted = { pages: 0, planned: 0 }
  let cursor = afterSeq
  let count = 0
  let looked = 0
  let more = cursor < untilSeq
  for (let reads = 0; more && count < most && looked < MAX_REPLAY_EXAMINED; reads++) {
    if (reads === MAX_REPLAY_READS || isGone()) break
    // An embedded log is read on this thread.
    await nextTurn()
    const limit = Math.min(REPLAY_PAGE, most - count)
    const page = await deps.events.after({
      afterSeq: cursor,
      untilSeq,
      filters,
      limit,
      maxBytes: REPLAY_PAGE_BYTES,
    })
    if (page.events.length > 0) {
      if (isOutdated(room, sinceCounted)) {
        room = await roomFor(deps, subscription)
        sinceCounted = { pages: 0, planned: 0 }
      }
      const left = leastOf(room) - sinceCounted.planned
      const events = page.events.slice(0, Math.max(0, left))
      const jobs = events.map(({ seq }) => ({ subscriptionId: subscription.id, seq }))
      const planned = jobs.length === 0 ? [] : await deps.store.enqueue({ events, jobs })
      const added = planned.filter(({ isNew }) => isNew).length
      count += added
      sinceCounted.pages++
      sinceCounted.planned += added
      looked += planned.length
      if (events.length < page.events.length) {
        cursor = events.at(-1)?.seq ?? cursor
        break
      }
    }
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

interface Room {
  readonly backlog: number
  /** Which backlog leaves the least room. */
  readonly fullest: string
  /** Deliveries that the credits still cover. Each costs a credit, so no more than these are planned. */
  readonly paid: number
}

function leastOf({ backlog, paid }: Room): number {
  return Math.min(backlog, paid)
}

function isOutdated(room: Room, since: { readonly pages: number; readonly planned: number }): boolean {
  const planned = Math.min(COUNT_AFTER.planned, leastOf(room) * COUNT_AFTER_SHARE)
  return since.pages >= COUNT_AFTER.pages || since.planned >= planned
}

async function roomFor(deps: ReplayDeps, subscription: SubscriptionRecord): Promise<Room> {
  const { id: subscriptionId, accountId } = subscription
  const { subscription: ofOne, account: ofAll } = MAX_REPLAY_BACKLOG
  // An embedded store counts on this thread, where the log was just read.
  await nextTurn()
  const waiting = await deps.store.backlog({ subscriptionId, accountId, limit: ofAll })
  return {
    backlog: Math.min(ofOne - waiting.ofSubscription, ofAll - waiting.ofAccount),
    fullest: waiting.ofSubscription >= ofOne ? 'this webhook' : 'the webhooks of this account',
    paid: (await deps.credits.available(subscription)) - waiting.ofAccount,
  }
}

function refuseWithout({ backlog, fullest, paid }: Room): number {
  if (backlog < 1) {
    throw new ApiError(
      'rate_limited',
      `So many events wait for ${fullest} already that nothing is replayed before they are delivered.`,
      { reason: 'replay_backlog', retry_after: BACKLOG_RETRY_S },
      [['Retry-After', String(BACKLOG_RETRY_S)]],
    )
  }
  if (paid < 1) {
    const text = 'The credits that are left do not pay for more deliveries than those that wait already.'
    throw new ApiError('credits_exhausted', text, { reason: 'balance' })
  }
  return Math.min(REPLAY_EVENTS, backlog, paid)
}
