/**
 * Passes new events of the log to the readers in this process. Each event is read once from the store, and all readers
 * get the same object and so the same serialised text.
 *
 *   writer ──announce(seq)──▶ tail ──read on, in order──▶ every listener
 *                                └─ nobody listens: not read, the position moves on
 */
import { type Clock, runAfter } from '../kit/clock.ts'
import { isTurnSpent, nextTurn } from '../kit/time-slices.ts'
import type { EventPage, EventStore, StoredEvent } from '../store/events.ts'

export interface EventTail {
  /** The last sequence number that was passed to the listeners; earlier events are in the store. */
  readonly seq: number
  /** No listener needs events now. */
  readonly isIdle: boolean
  /** The log has events up to this sequence number. */
  announce(seq: number): void
  /** Passes every event after `seq`, in order, in batches. A listener must not throw or block. */
  listen(listener: TailListener, options?: ListenOptions): () => void
  close(): Promise<void>
}

type TailListener = (events: readonly StoredEvent[]) => void
/** The log dropped the events in (afterSeq, upToSeq] before they were read. */
type MissedListener = (afterSeq: number, upToSeq: number) => void

interface ListenOptions {
  onMissed?: MissedListener
  /** Whether the listener needs no events now. While all listeners are idle, they are called without events. */
  isIdle?: () => boolean
}

export interface EventTailOptions {
  store: Pick<EventStore, 'after' | 'bounds'>
  clock: Clock
  onError?: (error: unknown) => void
}

const BATCH_EVENTS = 500
const BATCH_BYTES = 1024 * 1024
/**
 * Events between two looks at the time, because each may go to thousands of sockets. Fewer would be more writes, because
 * the events of a part leave in one write per socket.
 */
const PART_EVENTS = 16
const RETRY_MS = 250

export async function createEventTail(options: EventTailOptions): Promise<EventTail> {
  const { store, clock } = options
  const listeners = new Map<TailListener, ListenOptions>()
  let seq = (await store.bounds()).newestSeq
  let known = seq
  let closed = false
  let reading: Promise<void> | undefined
  /** At most one retry is scheduled; while it is, nothing else starts a read. */
  let cancelRetry: (() => void) | undefined

  function areAllIdle(): boolean {
    for (const { isIdle } of listeners.values()) if (isIdle?.() !== true) return false
    return true
  }

  /** While this waits, `seq` is that of the last event that was passed on. */
  async function pass({ events, upToSeq }: EventPage): Promise<void> {
    for (let at = 0; at < events.length; ) {
      if (isTurnSpent() && at > 0) await nextTurn()
      if (closed) return
      const part = events.slice(at, at + PART_EVENTS)
      at += part.length
      if (at < events.length) seq = part.at(-1)?.seq ?? seq
      else seq = Math.max(upToSeq, seq)
      for (const listener of listeners.keys()) listener(part)
    }
    seq = Math.max(upToSeq, seq)
  }

  async function read(): Promise<void> {
    while (seq < known && !closed) {
      // The log may grow during the read. Events that were not requested must not count as seen.
      const until = known
      const page = await store.after({
        afterSeq: seq,
        untilSeq: until,
        limit: BATCH_EVENTS,
        maxBytes: BATCH_BYTES,
      })
      // Checked after the read, so that events dropped meanwhile are noticed.
      const { oldestSeq } = await store.bounds()
      if (closed) return
      // Events that the log dropped after they were read are still passed on, so they were not missed.
      const firstSeq = page.events[0]?.seq ?? Number.POSITIVE_INFINITY
      const missedSeq = Math.min(oldestSeq - 1, until, firstSeq - 1)
      if (missedSeq > seq) {
        for (const { onMissed } of listeners.values()) onMissed?.(seq, missedSeq)
      }
      await pass(page)
      if (closed) return
      if (!page.more) seq = Math.max(seq, until)
      // Lets the readers' sockets be served between pages; otherwise a burst would make clients look slow.
      else await new Promise((resolve) => setImmediate(resolve))
    }
  }

  function wake(): void {
    if (reading !== undefined || cancelRetry !== undefined || closed || seq >= known) return
    if (areAllIdle()) {
      seq = known
      for (const listener of listeners.keys()) listener([])
      return
    }
    reading = read()
      .catch((error) => {
        options.onError?.(error)
        if (closed) return
        cancelRetry = runAfter(clock, RETRY_MS, () => {
          cancelRetry = undefined
          wake()
        })
      })
      .finally(() => {
        reading = undefined
        if (seq < known) setImmediate(wake)
      })
  }

  return {
    get seq() {
      return seq
    },
    get isIdle() {
      return areAllIdle()
    },
    announce(newest) {
      known = Math.max(known, newest)
      wake()
    },
    listen(listener, options = {}) {
      listeners.set(listener, options)
      return () => listeners.delete(listener)
    },
    async close() {
      closed = true
      cancelRetry?.()
      listeners.clear()
      await reading
    },
  }
}
