import { type Clock, runAfter } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { EventStore } from '../store/events.ts'
import type { EventText, JobsStore, NewJob } from '../store/jobs.ts'
import type { SubscriptionBook } from './subscription-book.ts'

/**
 * Reads the event log from the webhooks' own position and writes a job for every subscription that selects an event,
 * together with the new position: after a crash no event is skipped and none is planned twice.
 *
 * While no subscription is active the log is not read: the position moves with the end of the log in memory, and is
 * written now and then, and before a subscription is added in this process. Another process may have added one, unknown
 * here while the position moved on: it gets what comes after the position that was written.
 */
export interface Planner {
  /** The log has grown. */
  wake(): void
  /** Also writes the position where it has moved in memory only. */
  wakeAndWrite(): void
  /** A subscription is about to be added: it need not get what has happened before. */
  beforeAdding(): Promise<void>
  readonly position: number
  close(): Promise<void>
}

const PAGE_EVENTS = 500
const PAGE_BYTES = 1024 * 1024
const RETRY_MS = 500

export async function startPlanner(deps: {
  store: Pick<JobsStore, 'startAt' | 'position' | 'plan'>
  events: Pick<EventStore, 'after' | 'bounds' | 'logId'>
  book: Pick<SubscriptionBook, 'match' | 'activeCount' | 'version'>
  /** Reads the book again, for all who use it: who delivers does not see the same change a second time. */
  reload: () => Promise<void>
  /** The last number of the log that readers in this process were given. */
  tailSeq: () => number
  clock: Clock
  log: Logger
  /** Jobs were written for these subscriptions. */
  onPlanned: (subscriptionIds: ReadonlySet<string>) => void
}): Promise<Planner> {
  const { store, events, book, clock, log } = deps
  let position = await findPosition()
  /** As the store has it. */
  let written = position
  let subscriptions = book.version
  let running: Promise<void> | undefined
  let again = false
  let closed = false
  let cancelRetry: (() => void) | undefined

  async function planPage(): Promise<boolean> {
    // Read before matching: a subscription that is added meanwhile makes the plan void.
    subscriptions = book.version
    if (book.activeCount === 0) {
      const { newestSeq } = await events.bounds()
      if (newestSeq < written) await restart()
      // A log that was taken over by a standby can be behind the end that was announced.
      position = Math.max(written, Math.min(deps.tailSeq(), newestSeq))
      return written < position && !(await write(position, [], []))
    }
    position = written
    const page = await events.after({ afterSeq: position, limit: PAGE_EVENTS, maxBytes: PAGE_BYTES })
    if (page.upToSeq <= position) return restartIfReplaced()
    const jobs: NewJob[] = []
    const wanted: EventText[] = []
    for (const event of page.events) {
      const before = jobs.length
      for (const subscriptionId of book.match(event)) jobs.push({ subscriptionId, seq: event.seq })
      if (jobs.length > before) wanted.push(event)
    }
    const first = page.events[0]
    if (first !== undefined && first.seq > position + 1) {
      log.warn({ after: position, next: first.seq }, 'the event log no longer reaches the webhooks position')
    }
    if (!(await write(page.upToSeq, wanted, jobs))) return true
    if (jobs.length > 0) deps.onPlanned(new Set(jobs.map((job) => job.subscriptionId)))
    return page.more
  }

  /** False: another process has moved the position or changed a subscription, and planning continues from there. */
  async function write(
    upTo: number,
    wanted: readonly EventText[],
    jobs: readonly NewJob[],
  ): Promise<boolean> {
    const isPlanned = await store.plan({ after: written, upTo, subscriptions, events: wanted, jobs })
    if (!isPlanned) await deps.reload()
    written = isPlanned ? upTo : ((await store.position()) ?? written)
    position = written
    return isPlanned
  }

  /** No subscription selects an event up to here. */
  function skip(): void {
    position = Math.max(position, deps.tailSeq())
  }

  /** Pending jobs have copies of their events, also of a lost log; those of the new log are added to them. */
  async function findPosition(): Promise<number> {
    const before = await store.position()
    const { newestSeq } = await events.bounds()
    const place = await store.startAt({ id: await events.logId(), newestSeq }, before)
    if (before !== undefined && place < before) {
      log.error(
        { before, place, newestSeq },
        'the event log was replaced; the webhooks read the new one from its beginning',
      )
    }
    return place
  }

  async function restartIfReplaced(): Promise<boolean> {
    if ((await events.bounds()).newestSeq >= position) return false
    await restart()
    return true
  }

  async function restart(): Promise<void> {
    position = await findPosition()
    written = position
  }

  async function run(): Promise<void> {
    do {
      again = false
      while (!closed && (await planPage())) {}
    } while (again && !closed)
  }

  const wake = () => {
    if (book.activeCount === 0 && running === undefined && !closed) skip()
    else wakeAndWrite()
  }

  const wakeAndWrite = () => {
    // After a failure one timer starts the next run, however many events arrive until then.
    if (closed || cancelRetry !== undefined) return
    if (running !== undefined) {
      again = true
      return
    }
    running = run()
      .catch((err) => {
        if (closed) return
        log.error({ err }, 'events could not be planned')
        cancelRetry = runAfter(clock, RETRY_MS, () => {
          cancelRetry = undefined
          wakeAndWrite()
        })
      })
      .finally(() => {
        running = undefined
      })
  }
  wake()

  return {
    wake,
    wakeAndWrite,
    async beforeAdding() {
      if (book.activeCount > 0) return
      await running
      wakeAndWrite()
      await running
    },
    get position() {
      return position
    },
    async close() {
      closed = true
      cancelRetry?.()
      await running
      if (written < position) await write(position, [], [])
    },
  }
}
