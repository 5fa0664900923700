/**
 * Rounds whose blocks the chain may still replace: those that were emitted, and those that the history has read, which
 * may be of the previous phase. Each is read again until its block is too deep to be replaced.
 */
import type { OracleRoundObservation } from '../observation.ts'
import type { Round } from './abi.ts'

/** The nodes may disagree on a round forever. At its settling age it is read this often in vain, then it is unknown. */
const MAX_READS_IN_VAIN = 5

interface UnsettledRound {
  readonly updatedMs: number
  /**
   * As it was emitted; undefined if only the history has read it, because it is unknown which version the caller has.
   */
  readonly emitted: OracleRoundObservation | undefined
  /** How often it was read in vain at its settling age. */
  readonly inVain?: number
}

export type UnsettledRounds = ReturnType<typeof createUnsettledRounds>

/** @param settlesAfterMs blocks of this age are no longer replaced */
export function createUnsettledRounds(settlesAfterMs: number) {
  const feeds = new Map<string, Map<bigint, UnsettledRound>>()
  const of = (proxy: string) => {
    const known = feeds.get(proxy) ?? new Map<bigint, UnsettledRound>()
    feeds.set(proxy, known)
    return known
  }
  const forgetBefore = (proxy: string, timeMs: number) => {
    const known = of(proxy)
    for (const [roundId, { updatedMs }] of known) if (updatedMs < timeMs) known.delete(roundId)
  }

  return {
    emitted(observation: OracleRoundObservation): void {
      const { roundId, updatedMs } = observation
      of(observation.instrument).set(roundId, { updatedMs, emitted: observation })
    },
    /** Clocks may differ, so rounds are kept for twice the necessary time. */
    read(proxy: string, { roundId, updatedAt }: Round, nowMs: number): void {
      const updatedMs = updatedAt * 1_000
      if (updatedMs >= nowMs - 2 * settlesAfterMs && !of(proxy).has(roundId))
        of(proxy).set(roundId, { updatedMs, emitted: undefined })
    },
    /** The rounds to read again, however old: after an outage of the nodes they were not read while they settled. */
    list: (proxy: string): (readonly [bigint, UnsettledRound])[] => [...of(proxy)],
    /**
     * The nodes did not agree on the round in blocks up to `reachedMs`. Young rounds hold nothing up; later nothing may be
     * settled, until the round is given up.
     */
    readInVain(proxy: string, roundId: bigint, reachedMs: number): 'young' | 'disputed' | 'given up' {
      const round = of(proxy).get(roundId)
      if (round === undefined || round.updatedMs >= reachedMs - settlesAfterMs) return 'young'
      const inVain = (round.inVain ?? 0) + 1
      of(proxy).set(roundId, { ...round, inVain })
      return inVain < MAX_READS_IN_VAIN ? 'disputed' : 'given up'
    },
    gone: (proxy: string, roundId: bigint): void => void of(proxy).delete(roundId),
    /**
     * All rounds were read again from blocks up to `reachedMs`. Returns the time before which nothing can be replaced.
     */
    settle(proxy: string, reachedMs: number): number {
      const settledMs = reachedMs - settlesAfterMs
      forgetBefore(proxy, settledMs)
      return settledMs
    },
  }
}
