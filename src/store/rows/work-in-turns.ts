import { nextTurn } from '../../kit/time-slices.ts'
import { turnTimeMs } from '../../kit/turns.ts'

/** Work that can pause wherever it yields. */
export type RestingWork<T> = Generator<undefined, T, undefined>

/**
 * Lets other work of the thread run after each `holdMs`. Of several jobs that work like this, one continues per turn.
 */
export async function workInTurns<T>(work: RestingWork<T>, holdMs: number): Promise<T> {
  let holdingSince = turnTimeMs()
  for (;;) {
    const next = work.next()
    if (next.done) return next.value
    if (turnTimeMs() - holdingSince <= holdMs) continue
    await nextTurn()
    holdingSince = turnTimeMs()
  }
}

export function workAtOnce<T>(work: RestingWork<T>): T {
  for (;;) {
    const next = work.next()
    if (next.done) return next.value
  }
}

/** Runs the work for at most one turn; undefined if it takes longer. */
export function workForOneTurn<T>(work: RestingWork<T>, turnMs: number): T | undefined {
  const endsAt = turnTimeMs() + turnMs
  for (;;) {
    const next = work.next()
    if (next.done) return next.value
    if (turnTimeMs() >= endsAt) return undefined
  }
}
