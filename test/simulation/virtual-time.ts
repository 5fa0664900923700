/**
 * The time of a simulation: a heap of timers, run one after another in the order of their instants. Between two timers
 * everything that was woken runs to completion, as in a real event loop. Nothing waits for real time.
 */

interface Timer {
  readonly atMs: number
  /** Timers of one instant run in the order in which they were created. */
  readonly order: number
  run: (() => void) | undefined
}

/** Runs everything that is due in this turn: promise reactions and ticks. Works only in a turn's outermost call. */
const { _tickCallback: runReactions } = process as unknown as { _tickCallback(): void }
/** The real one: the guard replaces the global one while a simulation runs. */
const nextTurnOfLoop = setImmediate
/** The real event loop gets a turn after this many timers, so that progress lines and interrupts are not held up. */
const TIMERS_PER_TURN = 20_000

export class VirtualTime {
  readonly startMs: number
  #nowMs: number
  #order = 0
  #heap: Timer[] = []
  /** Callbacks of the current turn of the loop: `setImmediate`. */
  #turns: (() => void)[] = []
  #live = 0
  #ran = 0

  constructor(startMs: number) {
    this.startMs = startMs
    this.#nowMs = startMs
  }

  get nowMs(): number {
    return this.#nowMs
  }

  get elapsedMs(): number {
    return this.#nowMs - this.startMs
  }

  /** The number of pending timers. */
  get pending(): number {
    return this.#live
  }

  /** The number of timers that have run, as a measure of the simulated work. */
  get ran(): number {
    return this.#ran
  }

  /** Whole milliseconds and never in the past, as with a real timer. */
  after(ms: number, run: () => void): () => void {
    const delayMs = Number.isNaN(ms) ? 1 : Math.max(0, Math.ceil(ms))
    const timer: Timer = { atMs: this.#nowMs + delayMs, order: this.#order++, run }
    push(this.#heap, timer)
    this.#live++
    return () => {
      if (timer.run === undefined) return
      timer.run = undefined
      this.#live--
    }
  }

  /** Runs after the timers of this instant that are already due. */
  turn(run: () => void): void {
    this.#turns.push(run)
  }

  /** Runs everything up to and including that instant. */
  runUntil(untilMs: number, isOver: () => boolean = () => false): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        try {
          for (let left = TIMERS_PER_TURN; left > 0; left--) {
            if (isOver()) return resolve()
            if (!this.#runNext(untilMs)) {
              this.#nowMs = Math.max(this.#nowMs, untilMs)
              return resolve()
            }
          }
        } catch (error) {
          return reject(error)
        }
        nextTurnOfLoop(go)
      }
      nextTurnOfLoop(go)
    })
  }

  #runNext(untilMs: number): boolean {
    if (this.#turns.length > 0) {
      const turns = this.#turns
      this.#turns = []
      for (const run of turns) {
        run()
        runReactions()
      }
      return true
    }
    while (this.#heap[0] !== undefined && this.#heap[0].run === undefined) pop(this.#heap)
    const next = this.#heap[0]
    if (next === undefined || next.atMs > untilMs) return false
    pop(this.#heap)
    this.#nowMs = Math.max(this.#nowMs, next.atMs)
    const { run } = next
    next.run = undefined
    this.#live--
    this.#ran++
    run?.()
    runReactions()
    return true
  }
}

const isBefore = (a: Timer, b: Timer) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)

function push(heap: Timer[], timer: Timer): void {
  let index = heap.push(timer) - 1
  while (index > 0) {
    const parent = (index - 1) >> 1
    const above = heap[parent] as Timer
    if (isBefore(above, timer)) break
    heap[index] = above
    index = parent
  }
  heap[index] = timer
}

function pop(heap: Timer[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let index = 0
  for (;;) {
    let child = 2 * index + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && isBefore(heap[child + 1] as Timer, heap[child] as Timer)) child++
    const below = heap[child] as Timer
    if (isBefore(last, below)) break
    heap[index] = below
    index = child
  }
  heap[index] = last
}
