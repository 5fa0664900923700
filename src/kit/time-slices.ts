/**
 * Long work on one input, in slices: after a few milliseconds it gives the loop back. Only one such slice runs in
 * a turn of the loop, however many inputs are worked on, so that all of them together hold it no longer than one.
 */
const SLICE_MS = 4

const waiting: (() => void)[] = []

/** Resolves in a later turn of the loop, of which the caller then has a slice. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(runOne)
  })
}

function runOne(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(runOne)
}

/** The time that one piece of work has had in this turn. */
export class Slice {
  #endsAtMs = performance.now() + SLICE_MS

  get isOver(): boolean {
    return performance.now() >= this.#endsAtMs
  }

  async next(): Promise<void> {
    await nextTurn()
    this.#endsAtMs = performance.now() + SLICE_MS
  }
}
