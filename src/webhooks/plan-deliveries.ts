import { type Clock, runAfter } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { EventStore, StoredEvent } from '../store/events.ts'
import type { EventText, JobsStore, NewJob } from '../store/jobs.ts'
import type { SubscriptionBook } from './subscription-book.ts'

/**
 * Reads the event log from the webhooks' own position and writes a job for every subscription that selects an event.
 * The new position is written together with the jobs, so that after a crash no event is skipped or planned twice.
 *
 * While no subscription is active, the log is not read. The position follows the end of the log in memory and is
 * written from time to time, and before a subscription is added in this process. If another process adds one in the
 * meantime, that subscription gets the events after the last written position.
 */
export interface Planner {
  /** The log has grown. */
  wake(): void
  /** Like `wake`, but also writes a position that has moved only in memory. */
  wakeAndWrite(): void
  /** A subscription is about to be added, which need not get earlier events. */
  beforeAdding(): Promise<void>
  readonly position: number
  /**
   * The position that the store has. Events after it may still be planned, for a subscription that was added since, even
   * if the position in memory is past them.
   */
  readonly written: number
  close(): Promise<void>
}

const PAGE_EVENTS = 500
const PAGE_BYTES = 1024 * 1024
/** With very many webhooks, a page is written in several parts. The jobs of one event stay together. */
const MAX_WRITTEN_JOBS = 2_000
const RETRY_MS = 500

export async function startPlanner(deps: {
  store: Pick<JobsStore, 'startAt' | 'position' | 'plan'>
  events: Pick<EventStore, 'after' | 'bounds' | 'logId'>
  book: Pick<SubscriptionBook, 'match' | 'activeCount' | 'version'>
  /**
   * Reads the book again for everyone who uses it, because the delivery worker does not see the same change a second
   * time.
   */
  reload: () => Promise<void>
  /** The last sequence number of the log that was passed to readers in this process. */
  tailSeq: () => number
  clock: Clock
  log: Logger
  /** Jobs were written for these subscriptions. */
  onPlanned: (subscriptionIds: ReadonlySet<string>) => void
}): Promise<Planner> {
  const { store, events, book, clock, log } = deps
  let position = await findPosition()
  /** The position that the store has. */
  let written = position
  let subscriptions = book.version
  let running: Promise<void> | undefined
  let again = false
  let closed = false
  let cancelRetry: (() => void) | undefined

  async function planPage(): Promise<boolean> {
    subscriptions = book.version
    if (book.activeCount === 0) {
      const { newestSeq } = await events.bounds()
      if (newestSeq < written) await restart()
      // A log that a standby took over can be behind the end that was announced.
      position = Math.max(written, Math.min(deps.tailSeq(), newestSeq))
      return written < position && !(await write(position, [], []))
    }
    position = written
    const page = await events.after({ afterSeq: position, limit: PAGE_EVENTS, maxBytes: PAGE_BYTES })
    if (page.upToSeq <= position) return restartIfReplaced()
    const first = page.events[0]
    if (first !== undefined && first.seq > position + 1) {
      log.warn({ after: position, next: first.seq }, 'the event log no longer reaches the webhooks position')
    }
    let left = page.events
    do {
      const part = matchSome(left)
      const rest = left.slice(part.taken)
      const upTo = rest.length === 0 ? page.upToSeq : part.upToSeq
      const before = written
      if (!(await write(upTo, part.wanted, part.jobs))) {
        // The same events are matched again at once: the less time a plan takes, the more changes it withstands.
        if (written === before && left.length > 0 && book.activeCount > 0) continue
        return true
      }
      left = rest
      if (part.jobs.length > 0) deps.onPlanned(new Set(part.jobs.map((job) => job.subscriptionId)))
    } while (left.length > 0 && !closed)
    return page.more
  }

  /** The jobs of the first events: of all of them, or of as many as are written at once. */
  function matchSome(page: readonly StoredEvent[]) {
    // Read before matching, because the plan is void if a subscription is added meanwhile.
    subscriptions = book.version
    const jobs: NewJob[] = []
    const wanted: EventText[] = []
    let taken = 0
    let upToSeq = position
    for (const event of page) {
      const before = jobs.length
      for (const subscriptionId of book.match(event)) jobs.push({ subscriptionId, seq: event.seq })
      if (jobs.length > before) wanted.push(event)
      taken++
      upToSeq = event.seq
      if (jobs.length >= MAX_WRITTEN_JOBS) break
    }
    return { jobs, wanted, taken, upToSeq }
  }

  /**
   * Returns false if another process has moved the position or changed a subscription; planning continues from there.
   */
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

  /** Moves the position without reading, because no subscription selects any event up to here. */
  function skip(): void {
    position = Math.max(position, deps.tailSeq())
  }

  /**
   * Finds the position in the current log. Pending jobs have copies of their events, even of a lost log, so jobs of the
   * new log are simply added.
   */
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
    // After a failure, one timer starts the next run, no matter how many events arrive until then.
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
    get written() {
      return written
    },
    async close() {
      closed = true
      cancelRetry?.()
      await running
      if (written < position) await write(position, [], [])
    },
  }
}
