/**
 * Notifications between the node's socket and the indexer. Blocks keep their order and wait in a bounded queue; of
 * scores that arrive close together only the newest is kept. A queue that is full is emptied and marked as broken, and
 * the lost blocks are requested again, as after a lost connection.
 */
import type { Clock } from '../kit/clock.ts'

export interface NotificationBatch {
  /** Payloads of BlockAdded, in order. */
  readonly blocks: readonly Uint8Array[]
  /** Payloads of the scores, in order. */
  readonly daaScores: readonly Uint8Array[]
  readonly blueScores: readonly Uint8Array[]
  /** All blocks received up to this time are in this batch or an earlier one; omitted if more of them are waiting. */
  readonly completeToMs?: number
}

export interface NotificationQueue {
  block(bytes: Uint8Array): void
  daaScore(bytes: Uint8Array): void
  blueScore(bytes: Uint8Array): void
  /** Takes what is waiting, up to `perTake` blocks; undefined if nothing is. */
  take(): NotificationBatch | undefined
  /** Everything received was taken, and nothing was lost. */
  readonly isDrained: boolean
  /** Whether blocks were lost since the last call. */
  wasBroken(): boolean
  clear(): void
}

export interface QueueLimits {
  blocks: number
  bytes: number
  perTake: number
}

/** A score that arrives within this time after another one replaces it. */
const SCORE_GAP_MS = 25
/** Beyond this number the oldest scores are dropped; scores are not requested again. */
const MAX_SCORES = 1_000

const QUEUE_LIMITS: QueueLimits = { blocks: 5_000, bytes: 64 * 1024 * 1024, perTake: 100 }

export function createNotificationQueue(
  clock: Pick<Clock, 'now'>,
  limits: QueueLimits = QUEUE_LIMITS,
): NotificationQueue {
  let blocks: Uint8Array[] = []
  let bytesWaiting = 0
  let broken = false
  const daaScores = new Scores(clock)
  const blueScores = new Scores(clock)

  const isEmpty = () => blocks.length === 0 && daaScores.isEmpty && blueScores.isEmpty

  function clear(): void {
    blocks = []
    bytesWaiting = 0
    daaScores.take()
    blueScores.take()
  }

  return {
    get isDrained() {
      return !broken && isEmpty()
    },
    block(bytes) {
      blocks.push(bytes)
      bytesWaiting += bytes.length
      if (blocks.length <= limits.blocks && bytesWaiting <= limits.bytes) return
      clear()
      broken = true
    },
    daaScore: (bytes) => daaScores.add(bytes),
    blueScore: (bytes) => blueScores.add(bytes),
    take() {
      if (isEmpty()) return undefined
      const taken = {
        blocks: blocks.splice(0, limits.perTake),
        daaScores: daaScores.take(),
        blueScores: blueScores.take(),
      }
      for (const block of taken.blocks) bytesWaiting -= block.length
      return taken
    },
    wasBroken() {
      const was = broken
      broken = false
      return was
    },
    clear,
  }
}

class Scores {
  readonly #clock: Pick<Clock, 'now'>
  #waiting: Uint8Array[] = []
  #newestMs = Number.NEGATIVE_INFINITY

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  add(bytes: Uint8Array): void {
    const nowMs = this.#clock.now()
    if (nowMs - this.#newestMs < SCORE_GAP_MS) this.#waiting.pop()
    else {
      this.#newestMs = nowMs
      if (this.#waiting.length >= MAX_SCORES) this.#waiting.shift()
    }
    this.#waiting.push(bytes)
  }

  take(): Uint8Array[] {
    const taken = this.#waiting
    this.#waiting = []
    return taken
  }
}
