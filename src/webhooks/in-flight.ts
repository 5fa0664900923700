import { type ReceiverQueue, SLOW_ANSWER_MS, slotsOf } from './receiver-queue.ts'

/**
 * The attempts in flight, and who may start another one. Quick and slow receivers are counted separately, so that many
 * slow ones together cannot take all the room:
 *
 *   quick ──not answered within SLOW_ANSWER_MS──▶ old: its receiver is slow from now on
 *   slow
 *
 * A queue that found no room waits in `starved` until an attempt ends or becomes old.
 */
export interface ActiveAttempt {
  readonly queue: ReceiverQueue
  readonly startedMs: number
  readonly slow: boolean
  /** Started as a quick attempt and was not answered in time; it counts only towards the total. */
  old: boolean
}

const MAX_QUICK = 1_000
const CROWDED = 500
const MAX_SLOW = 500
/** Quick attempts that became old keep their sockets until they time out. */
const MAX_TOTAL = 3_000

export class InFlight {
  /** Oldest first. */
  readonly #attempts = new Set<ActiveAttempt>()
  readonly #starved = new Set<ReceiverQueue>()
  #quick = 0
  #slow = 0

  get size(): number {
    return this.#attempts.size
  }

  /** Whether the queue may start an attempt now. If other queues are the reason why not, it becomes starved. */
  hasRoom(queue: ReceiverQueue): boolean {
    const isCrowded = this.#quick >= CROWDED
    if (queue.inFlight >= slotsOf(queue, isCrowded)) {
      if (queue.inFlight < slotsOf(queue, false)) this.#starved.add(queue)
      return false
    }
    const hasOwnRoom = queue.slow ? this.#slow < MAX_SLOW : this.#quick < MAX_QUICK
    // Every queue gets a first slot, because it shows whether the receiver is slow.
    if ((hasOwnRoom || queue.inFlight === 0) && this.#attempts.size < MAX_TOTAL) return true
    this.#starved.add(queue)
    return false
  }

  start(queue: ReceiverQueue, nowMs: number): ActiveAttempt {
    const attempt = { queue, startedMs: nowMs, slow: queue.slow, old: false }
    this.#attempts.add(attempt)
    queue.inFlight++
    if (attempt.slow) this.#slow++
    else this.#quick++
    return attempt
  }

  end(attempt: ActiveAttempt): void {
    this.#attempts.delete(attempt)
    attempt.queue.inFlight--
    if (attempt.slow) this.#slow--
    else if (!attempt.old) this.#quick--
  }

  /** An attempt that becomes old shows that its receiver is slow, long before it times out. */
  markOld(nowMs: number): void {
    for (const attempt of this.#attempts) {
      if (attempt.startedMs > nowMs - SLOW_ANSWER_MS) break
      if (attempt.slow || attempt.old) continue
      attempt.old = true
      attempt.queue.slow = true
      this.#quick--
    }
  }

  takeStarved(): ReceiverQueue[] {
    const queues = [...this.#starved]
    this.#starved.clear()
    return queues
  }

  forget(queue: ReceiverQueue): void {
    this.#starved.delete(queue)
  }
}
