/**
 * Ranges whose rounds were not received: the time before the start, a lost connection, a skipped number. The rounds are
 * still on the chain, so each range is requested until the venue has answered for all of it.
 */
import type { HistoryRange } from '../../venues/venue.ts'

export interface RoundGap extends HistoryRange {
  /** How often the range was requested and found to be in dispute. */
  readonly requests?: number
}

const isOpenEnded = ({ toMs }: RoundGap) => !Number.isFinite(toMs)

export class RoundGaps {
  private gaps: RoundGap[] = []

  get isEmpty(): boolean {
    return this.gaps.length === 0
  }

  /** Whether rounds are being missed at present. */
  get isOpen(): boolean {
    return this.gaps.some(isOpenEnded)
  }

  /** The start of the earliest gap; infinite if there is no gap. */
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

  /** The connection was lost (`toMs` is infinite), or is up again (`fromMs` is infinite). */
  addOpen(fromMs: number, toMs: number): void {
    if (!Number.isFinite(fromMs)) this.changeOpen((gap) => ({ ...gap, toMs }))
    // A lost connection may also be reported as silent, which is the same gap.
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
 * Splits a gap by the range that the venue has answered, which may be less than was requested. What lies before the
 * answer is in dispute, what lies after it is still to come; each part may be empty.
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
