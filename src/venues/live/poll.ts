/** Data that a venue provides only on request: one loop per channel, whose answers join the live observations. */
import type { Clock } from '../../kit/clock.ts'
import type { Channel } from '../channel.ts'
import type { DataObservation } from '../observation.ts'

export interface Poll {
  readonly channel: Channel
  readonly everyMs: number
  request(signal: AbortSignal): Promise<readonly DataObservation[]>
  /** The instant up to which an answer is complete; undefined: up to the answer. Throws if it proves nothing. */
  observedTo?(observations: readonly DataObservation[]): number | undefined
}

export async function runPoll(options: {
  poll: Poll
  clock: Clock
  random: () => number
  signal: AbortSignal
  /** While the consumer is behind, no request is sent. */
  isPaused: () => boolean
  onAnswer: (observations: readonly DataObservation[]) => void
  onFailure: (error: unknown) => void
}): Promise<void> {
  const { poll, clock, signal } = options
  // The first requests of all polls are spread over two seconds.
  let waitMs = options.random() * Math.min(2_000, poll.everyMs)
  while (!signal.aborted) {
    try {
      await clock.sleep(waitMs, signal)
    } catch {
      return
    }
    waitMs = poll.everyMs
    if (options.isPaused()) continue
    try {
      options.onAnswer(await poll.request(signal))
    } catch (error) {
      if (!signal.aborted) options.onFailure(error)
    }
  }
}
