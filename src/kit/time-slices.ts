/**
 * Long work in slices of a few milliseconds. Only one slice runs per turn of the event loop, however many pieces of
 * work there are, so that all of them together block it no longer than one.
 */
import { turnTimeMs } from './turns.ts'

const SLICE_MS = 4

const waiting: (() => void)[] = []

/** Resolves in a later turn of the loop, in which the caller may use one slice. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(runOne)
  })
}

function runOne(): void {
  beginTurn()
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(runOne)
}

let turnEndsAtMs: number | undefined

function beginTurn(): void {
  if (turnEndsAtMs === undefined) setImmediate(() => (turnEndsAtMs = undefined))
  turnEndsAtMs = turnTimeMs() + SLICE_MS
}

/**
 * Whether the slice of this turn is used up. Everything that sockets deliver in a turn shares it, because one socket
 * alone can be read dozens of times before the loop continues.
 */
export function isTurnSpent(): boolean {
  if (turnEndsAtMs === undefined) beginTurn()
  return turnTimeMs() >= (turnEndsAtMs ?? 0)
}

/** The time budget of one piece of work in this turn. */
export class Slice {
  #endsAtMs = turnTimeMs() + SLICE_MS

  get isOver(): boolean {
    return turnTimeMs() >= this.#endsAtMs
  }

  async next(): Promise<void> {
    await nextTurn()
    this.#endsAtMs = turnTimeMs() + SLICE_MS
  }
}
