/**
 * Tracks which contract a feed's proxy was seen to answer from. A new contract may have rounds before the proxy moves
 * to it, and the old one may continue afterwards. Neither number nor time of a round shows when the proxy moved; only
 * requests made around that time do.
 */
import { phaseOf, type Round } from './abi.ts'

export interface PhaseChange {
  readonly phase: bigint
  /** The newest round of the previous phase that the proxy answered with; undefined if nobody asked at that time. */
  readonly lastBefore: Round | undefined
  /** The proxy had moved to this phase by this time. */
  readonly movedByMs: number
}

export type PhaseChanges = ReturnType<typeof createPhaseChanges>

export function createPhaseChanges() {
  const changes = new Map<string, PhaseChange & { newest: Round }>()
  return {
    /** The proxy now answers with this round. */
    seen(proxy: string, newest: Round, nowMs: number): void {
      const known = changes.get(proxy)
      const phase = phaseOf(newest.roundId)
      if (known?.phase === phase) {
        if (newest.roundId > known.newest.roundId) known.newest = newest
      } else if (known === undefined || known.phase < phase) {
        const lastBefore = known?.phase === phase - 1n ? known.newest : undefined
        changes.set(proxy, { phase, lastBefore, movedByMs: nowMs, newest })
      }
    },
    /** The change to this phase, if it is the last one. */
    to(proxy: string, phase: bigint): PhaseChange | undefined {
      const known = changes.get(proxy)
      return known?.phase === phase ? known : undefined
    },
  }
}
