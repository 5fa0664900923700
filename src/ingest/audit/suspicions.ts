/**
 * Collects possible errors until they are certain. One answer of a venue may be old, cut or false, so only what two
 * answers, some time apart, say in the same way is corrected.
 *
 *   suspected ──▶ judged ──nothing wrong──▶ forgotten
 *                   │ wrong
 *                   ▼
 *              judged again, `AGAIN_AFTER_MS` later ──the same is wrong──▶ corrected
 *                   ╰── no answer `MAX_TRIES` times ──▶ `giveUp`: a gap, if the rows themselves prove that one is wrong
 */
import type { Clock } from '../../kit/clock.ts'
import type { AuditDifference } from './audit.ts'

const AGAIN_AFTER_MS = 60_000
const MAX_TRIES = 5
const MAX_SUSPICIONS = 16

/** A row that is wrong, or a gap that is not recorded. */
export interface WrongRow {
  /** Identifies the row. */
  readonly key: string
  /** What the row should be, as text; it must be the same in both answers. */
  readonly truth: string
  correct(): AuditDifference
}

export interface Suspicion {
  readonly key: string
  /** Undefined if the venue no longer has the data. Rejects if it does not answer. */
  judge(): Promise<readonly WrongRow[] | undefined>
  giveUp?(): readonly AuditDifference[]
}

export type Suspicions = ReturnType<typeof createSuspicions>

export function createSuspicions(clock: Clock) {
  const open = new Map<
    string,
    { suspicion: Suspicion; dueMs: number; failures: number; seen: Map<string, string> | undefined }
  >()
  const nextOf = (nowMs: number) => open.values().find(({ dueMs }) => dueMs <= nowMs)

  return {
    add(suspicion: Suspicion): void {
      if (open.has(suspicion.key) || open.size >= MAX_SUSPICIONS) return
      open.set(suspicion.key, { suspicion, dueMs: clock.now(), failures: 0, seen: undefined })
    },
    isDue: (nowMs: number) => nextOf(nowMs) !== undefined,
    get size() {
      return open.size
    },
    /** Judges the suspicion that is due; null if none is, or its outcome is not known yet. */
    async resolve(): Promise<readonly AuditDifference[] | null> {
      const entry = nextOf(clock.now())
      if (entry === undefined) return null
      const { suspicion, seen } = entry
      const forget = () => open.delete(suspicion.key)
      let wrong: readonly WrongRow[] | undefined
      try {
        wrong = await suspicion.judge()
      } catch (error) {
        entry.failures += 1
        entry.dueMs = clock.now() + AGAIN_AFTER_MS
        if (entry.failures < MAX_TRIES) throw error
        forget()
        return suspicion.giveUp?.() ?? []
      }
      if (wrong === undefined || wrong.length === 0) {
        forget()
        return []
      }
      if (seen === undefined) {
        entry.seen = new Map(wrong.map(({ key, truth }) => [key, truth]))
        entry.dueMs = clock.now() + AGAIN_AFTER_MS
        return null
      }
      forget()
      return wrong.filter(({ key, truth }) => seen.get(key) === truth).map((row) => row.correct())
    },
  }
}
