/**
 * The bounded queue between a feed and its one consumer.
 *
 * Overflow rule: nothing is ever dropped from the queue. When `highWater` observations are waiting, the pressure
 * listener pauses the sockets until only `lowWater` are left. Data that the sockets had already read still enters the
 * queue, at most one socket buffer each. A consumer that stays behind loses the connection; the loss appears in the
 * queue as an ordinary `disconnected`, a known gap.
 */
import type { Observation } from '../observation.ts'

export type ObservationQueue = ReturnType<typeof createObservationQueue>

export function createObservationQueue(options: {
  highWater: number
  lowWater: number
  onPressure: (paused: boolean) => void
  /** The most observations that one `take` returns, so that a full queue is not emptied at once. */
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
    /**
     * Returns up to one batch of waiting observations, or waits for the next; an empty list means that the queue has
     * ended.
     */
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
