/**
 * Ranges whose rounds were not received: the time before the start, a lost connection, a number that was left out. They
 * are on the chain still, so each is requested until the venue has answered for all of it.
 */
import type { HistoryRange } from '../../venues/venue.ts'

export interface RoundGap extends HistoryRange {
  /** How often it was requested, and was in dispute. */
  readonly requests?: number
}

const isOpenEnded = ({ toMs }: RoundGap) => !Number.isFinite(toMs)

export class RoundGaps {
  private gaps: RoundGap[] = []

  get isEmpty(): boolean {
    return this.gaps.length === 0
  }

  /** Whether rounds are being missed now. */
  get isOpen(): boolean {
    return this.gaps.some(isOpenEnded)
  }

  /** Where the earliest gap begins; infinite without one. */
  get firstMs(): number {
    return Math.min(...this.gaps.map(({ fromMs }) => fromMs))
  }

  /** Gaps with a known end, the oldest first. */
  ended(): RoundGap[] {
    return this.gaps.filter((gap) => !isOpenEnded(gap)).sort((a, b) => a.fromMs - b.fromMs)
  }

  add(gap: HistoryRange): void {
    this.gaps.push(gap)
  }

  /** The connection was lost at an instant (the end is open), or is up again at one (the beginning is). */
  addOpen(fromMs: number, toMs: number): void {
    if (!Number.isFinite(fromMs)) this.changeOpen((gap) => ({ ...gap, toMs }))
    // A connection that is lost may fall silent too: that is the same gap.
    else if (this.isOpen) this.changeOpen((gap) => ({ ...gap, fromMs: Math.min(gap.fromMs, fromMs) }))
    else this.gaps.push({ fromMs, toMs })
  }

  replace(gap: RoundGap, by: readonly RoundGap[]): void {
    this.gaps = this.gaps.flatMap((each) => (each === gap ? by : [each]))
  }

  private changeOpen(change: (gap: RoundGap) => RoundGap): void {
    this.gaps = this.gaps.map((gap) => (isOpenEnded(gap) ? change(gap) : gap))
  }
}

/**
 * What the venue has answered of a gap; it may confirm less than was requested. What lies before its answer is in
 * dispute, what lies behind it is still to come; each may be empty.
 */
export function splitGap(
  gap: RoundGap,
  covered: HistoryRange,
): { disputed: HistoryRange; answered: HistoryRange; rest: RoundGap } {
  const within = (timeMs: number) => Math.min(Math.max(timeMs, gap.fromMs), gap.toMs)
  const answered = { fromMs: within(covered.fromMs), toMs: within(covered.toMs) }
  return {
    disputed: { fromMs: gap.fromMs, toMs: answered.fromMs },
    answered,
    rest: { ...gap, fromMs: answered.toMs },
  }
}
