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
    /**
     * The proxy now answers with this round.
     *
     * @param knownToMs time of the blocks that have no newer one
     */
    seen(proxy: string, newest: Round, nowMs: number, knownToMs = 0): void {
      const phase = phaseOf(newest.roundId)
      const last = changes.get(proxy)
      // The block in which the proxy moved was replaced. Nodes that are only behind have earlier blocks.
      if (last !== undefined && phase < last.phase && knownToMs > last.movedByMs) changes.delete(proxy)
      const known = changes.get(proxy)
      if (known?.phase === phase) {
        if (newest.roundId > known.newest.roundId) known.newest = newest
      } else if (known === undefined || known.phase < phase) {
        const lastBefore = known?.phase === phase - 1n ? known.newest : undefined
        changes.set(proxy, { phase, lastBefore, movedByMs: nowMs, newest })
      }
    },
    /**
     * A round that was on the chain at this time has another block now. If the proxy had been seen to move by then, it
     * may have moved later as well.
     */
    replaced(proxy: string, roundId: bigint, updatedMs: number, nowMs: number): void {
      const known = changes.get(proxy)
      if (known?.phase === phaseOf(roundId) && updatedMs <= known.movedByMs)
        changes.set(proxy, { ...known, movedByMs: nowMs })
    },
    /** The change to this phase, if it is the last one. */
    to(proxy: string, phase: bigint): PhaseChange | undefined {
      const known = changes.get(proxy)
      return known?.phase === phase ? known : undefined
    },
  }
}
