/**
 * The bounded queue between a feed and its one consumer.
 *
 * Overflow rule: nothing is ever dropped from the queue. When `highWater` observations wait, reading from the
 * sockets stops (the pressure listener pauses them) until `lowWater` is reached; what the sockets had already
 * read still enters, which is at most one socket buffer each. A consumer that stays behind loses the
 * connection, and that loss is an ordinary `disconnected` in the queue: a known gap.
 */
import type { Observation } from '../observation.ts'

export type ObservationQueue = ReturnType<typeof createObservationQueue>

export function createObservationQueue(options: {
  highWater: number
  lowWater: number
  onPressure: (paused: boolean) => void
  /** How many observations one `take` hands over, so that a full queue is not emptied at once. */
  batch?: number
}) {
  const batch = options.batch ?? 1_024
  let items: Observation[] = []
  let head = 0
  let paused = false
  let ended = false
  let wake: (() => void) | undefined

  const setPaused = (value: boolean) => {
    if (paused === value) return
    paused = value
    options.onPressure(value)
  }

  function takeNow(): Observation[] {
    if (head === 0 && items.length <= batch) {
      const all = items
      items = []
      return all
    }
    const part = items.slice(head, head + batch)
    head += part.length
    if (head * 2 >= items.length) {
      items = items.slice(head)
      head = 0
    }
    return part
  }

  return {
    push(observation: Observation) {
      if (ended) return
      items.push(observation)
      if (items.length - head >= options.highWater) setPaused(true)
      wake?.()
    },
    get size() {
      return items.length - head
    },
    get paused() {
      return paused
    },
    /** Everything that waits, or what comes next; an empty list at the end. */
    async take(): Promise<Observation[]> {
      if (items.length === head && !ended) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        wake = undefined
      }
      const part = takeNow()
      if (items.length - head <= options.lowWater) setPaused(false)
      return part
    },
    end() {
      ended = true
      wake?.()
    },
  }
}
