import { nextTurn } from '../../kit/time-slices.ts'
import { turnTimeMs } from '../../kit/turns.ts'

/** Work that can rest wherever it yields. */
export type RestingWork<T> = Generator<undefined, T, undefined>

/** Other work of the thread gets its turn after each `holdMs`, and of many that work like this one goes on in each turn. */
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

/** As far as it gets in one turn; undefined where it would take longer. */
export function workForOneTurn<T>(work: RestingWork<T>, turnMs: number): T | undefined {
  const endsAt = turnTimeMs() + turnMs
  for (;;) {
    const next = work.next()
    if (next.done) return next.value
    if (turnTimeMs() >= endsAt) return undefined
  }
}
