/**
 * What the parts of the service report about themselves, in whichever process they run, because `/v1/status` and
 * `/ready` must not depend on which process is asked.
 *
 *   this process: add(part) ──every second──▶ heartbeats in the store ──every second──▶ find(part) in every process
 */
import { type Clock, runEvery } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { Heartbeats } from '../store/heartbeats.ts'

interface PartReport<R = unknown> {
  readonly report: R
  /** What is wrong with the part; null if nothing is. */
  readonly problem: string | null
}

interface FoundReport<R> extends PartReport<R> {
  readonly part: string
  /** The part has not reported for a while, so its last report is out of date. */
  readonly isSilent: boolean
}

export interface PartReports {
  /** Reports a part of this process until the returned function is called. */
  add(part: string, read: () => PartReport): () => Promise<void>
  find<R>(isWanted: (part: string) => boolean): FoundReport<R>[]
  close(): Promise<void>
}

const EVERY_MS = 1_000
/** Longer than a change of leaders takes. */
export const MAX_SILENCE_MS = 20_000

/** For a service in which one process does everything. */
export function ownReports(): PartReports {
  const parts = new Map<string, () => PartReport>()
  return {
    add(part, read) {
      parts.set(part, read)
      return async () => void parts.delete(part)
    },
    find: <R>(isWanted: (part: string) => boolean) =>
      [...parts]
        .filter(([part]) => isWanted(part))
        .map(([part, read]) => ({ part, isSilent: false, ...(read() as PartReport<R>) })),
    close: async () => {},
  }
}

export function sharedReports(store: Heartbeats, { clock, log }: { clock: Clock; log: Logger }): PartReports {
  const own = new Map<string, () => PartReport>()
  let known: { part: string; reportedAtMs: number; value: PartReport }[] = []
  let running: Promise<void> | undefined
  let isAway = false

  const exchange = async () => {
    for (const [part, read] of own) await store.putHeartbeat({ part, text: JSON.stringify(read()) })
    const listed = await store.listHeartbeats()
    const nowMs = clock.now()
    known = listed.map(({ part, text, ageMs }) => ({
      part,
      reportedAtMs: nowMs - ageMs,
      value: JSON.parse(text) as PartReport,
    }))
    isAway = false
  }
  const go = () => {
    running ??= exchange()
      .catch((err) => {
        if (!isAway) log.warn({ err }, 'reports of other processes cannot be read')
        isAway = true
      })
      .finally(() => {
        running = undefined
      })
  }
  const stop = runEvery(clock, EVERY_MS, go)
  go()

  return {
    add(part, read) {
      own.set(part, read)
      return async () => {
        own.delete(part)
        await running
        // Otherwise a part that was stopped would look like one that died.
        await store.removeHeartbeat(part).catch(() => {})
      }
    },
    find: <R>(isWanted: (part: string) => boolean) => [
      // The parts of this process, with their current state.
      ...[...own]
        .filter(([part]) => isWanted(part))
        .map(([part, read]) => ({ part, isSilent: false, ...(read() as PartReport<R>) })),
      ...known
        .filter(({ part }) => isWanted(part) && !own.has(part))
        .map(({ part, reportedAtMs, value }): FoundReport<R> => {
          const silentMs = clock.now() - reportedAtMs
          const isSilent = silentMs > MAX_SILENCE_MS
          const { report, problem } = value as PartReport<R>
          return {
            part,
            report,
            isSilent,
            problem: isSilent ? `${part} has not reported for ${Math.round(silentMs / 1000)} s` : problem,
          }
        }),
    ],
    async close() {
      stop()
      await running
    },
  }
}

/** The message of the error that a check throws; null if it throws none. */
export function problemOf(check: () => void): string | null {
  try {
    check()
    return null
  } catch (error) {
    return (error as Error).message
  }
}
