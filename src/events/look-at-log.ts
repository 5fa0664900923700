import { type Clock, runAfter } from '../kit/clock.ts'
import type { EventStore } from '../store/events.ts'
import type { EventTail } from './publish.ts'

/** How often to look for events that another process wrote to the log; our own are announced. */
const LOOK_MS = 100
/** Used while our own events are announced, because each announcement also covers all earlier events. */
const LOOK_AFTER_OURS_MS = 500
/** Used if the store notifies of new events, because a notification can be lost. */
const LOOK_WHEN_NOTIFIED_MS = 1_000

/** Announces events that other processes wrote to the log. The returned function stops it. */
export function lookAtLog(deps: {
  events: Pick<EventStore, 'bounds' | 'watch'>
  tail: Pick<EventTail, 'seq' | 'announce'>
  clock: Clock
  onError: (error: unknown) => void
}): () => void {
  const { events, tail, clock, onError } = deps
  /** The sequence number that the tail has, or is about to have because of a look. */
  let seq = tail.seq
  const unwatch = events.watch?.((newestSeq) => announce({ newestSeq }))
  const lookMs = unwatch === undefined ? LOOK_MS : LOOK_WHEN_NOTIFIED_MS
  let stop = runAfter(clock, lookMs, look)
  function look(): void {
    const isAnnounced = tail.seq > seq
    stop = runAfter(clock, isAnnounced ? Math.max(lookMs, LOOK_AFTER_OURS_MS) : lookMs, look)
    if (isAnnounced) seq = tail.seq
    else events.bounds().then(announce, onError)
  }
  function announce({ newestSeq }: { newestSeq: number }): void {
    seq = Math.max(seq, newestSeq)
    tail.announce(newestSeq)
  }
  return () => {
    stop()
    unwatch?.()
  }
}
