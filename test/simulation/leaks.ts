/**
 * Law 5: after the faults the number of timers, sockets, open requests, promises of the network and the disk, and
 * unread bytes returns to what it was before them, and no socket is opened unless one was lost.
 *
 *   before the first fault ─▶ the largest of many samples     at the end ─▶ the smallest of many
 */
import type { Surroundings } from './simulation.ts'

type Counts = Readonly<Record<string, number>>

const MINUTE_MS = 60_000
const SAMPLES = 24
const BASE_FROM_MS = 10_000
const BASE_TO_MS = 3 * MINUTE_MS
const END_FROM_MS = 3 * MINUTE_MS
/** A task that runs only now and then may have added its own timer in the first hour. */
const SLACK = 3

export function createLeakWatch({ time, endMs }: Pick<Surroundings, 'time' | 'endMs'>, read: () => Counts) {
  const most = new Map<string, number>()
  const least = new Map<string, number>()
  const startMs = time.nowMs
  const sampleBetween = (fromMs: number, toMs: number, sample: () => void) => {
    for (let index = 0; index < SAMPLES; index++)
      // An interval that is not in step with what happens each second.
      time.after(fromMs - startMs + Math.round(((index + 0.37) / SAMPLES) * (toMs - fromMs)), sample)
  }
  const keep = (extremes: Map<string, number>, pick: (a: number, b: number) => number) => () => {
    for (const [name, count] of Object.entries(read()))
      extremes.set(name, pick(extremes.get(name) ?? count, count))
  }
  sampleBetween(startMs + BASE_FROM_MS, startMs + BASE_TO_MS, keep(most, Math.max))
  sampleBetween(endMs - END_FROM_MS, endMs, keep(least, Math.min))
  return {
    judge: (): string[] =>
      [...least]
        .filter(([name, count]) => count > (most.get(name) ?? 0) + SLACK)
        .map(
          ([name, count]) =>
            `5 ${count} ${name} are left; before the faults there were at most ${most.get(name)}`,
        ),
  }
}
