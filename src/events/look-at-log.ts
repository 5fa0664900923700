import { type Clock, runAfter } from '../kit/clock.ts'
import type { EventStore } from '../store/events.ts'
import type { EventTail } from './publish.ts'

/** How soon events that another process wrote to the log are noticed; our own are announced. */
const LOOK_MS = 100
/** While our own are announced nothing can go unnoticed for long: what is announced includes all that came before. */
const LOOK_AFTER_OURS_MS = 500
/** Where the store notifies of new events: a notification can be lost. */
const LOOK_WHEN_NOTIFIED_MS = 1_000

/** Announces what others wrote to the log. The function ends it. */
export function lookAtLog(deps: {
  events: Pick<EventStore, 'bounds' | 'watch'>
  tail: Pick<EventTail, 'seq' | 'announce'>
  clock: Clock
  onError: (error: unknown) => void
}): () => void {
  const { events, tail, clock, onError } = deps
  /** What the tail has, or is about to have because we looked. */
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
