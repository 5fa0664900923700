import { type Clock, runAfter } from '../kit/clock.ts'
import type { EventStore } from '../store/events.ts'
import type { EventTail } from './publish.ts'

/** How soon events that another process wrote to the log are noticed; our own are announced. */
const LOOK_MS = 100
/** While our own are announced nothing can go unnoticed for long: what is announced includes all that came before. */
const LOOK_AFTER_OURS_MS = 500

/** Announces what others wrote to the log. The function ends it. */
export function lookAtLog(deps: {
  events: Pick<EventStore, 'bounds'>
  tail: Pick<EventTail, 'seq' | 'announce'>
  clock: Clock
  onError: (error: unknown) => void
}): () => void {
  const { events, tail, clock, onError } = deps
  /** What the tail has, or is about to have because we looked. */
  let seq = tail.seq
  let stop = runAfter(clock, LOOK_MS, look)
  function look(): void {
    const isAnnounced = tail.seq > seq
    stop = runAfter(clock, isAnnounced ? LOOK_AFTER_OURS_MS : LOOK_MS, look)
    if (isAnnounced) seq = tail.seq
    else events.bounds().then(announce, onError)
  }
  function announce({ newestSeq }: { newestSeq: number }): void {
    seq = Math.max(seq, newestSeq)
    tail.announce(newestSeq)
  }
  return () => stop()
}
