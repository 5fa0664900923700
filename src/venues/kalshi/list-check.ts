/**
 * Compares books with the quotes in the venue's lists, because nothing else shows that a single contract has stopped
 * on the socket. A list may be minutes old, so a difference proves nothing while the book changes, and is verified:
 *
 *   agree ──a list has another top──▶ differ ──the next one too──▶ the book is requested
 *     ▲                                 │         ├── arrives with another top, or not until the next list ──▶ wrong
 *     ╰── a change, a list that agrees ─╯         ╰── arrives with the same ──lists differ for too long──▶ wrong
 *
 * A book that is wrong was right until its last frame, or until a later list that agreed with it.
 */
import { KALSHI_TIMES as TIMES } from './describe.ts'

interface Difference {
  /** When the first list that differs was received. */
  readonly firstMs: number
  rightToMs: number
  lists: number
  /** Whether the venue has sent the same book again. */
  isConfirmed: boolean
}

export function createListCheck() {
  const differences = new Map<string, Difference>()
  const agreedMs = new Map<string, number>()
  return {
    /** A list has the top of a book, whose last frame has this time, or another one. Returns what follows for it. */
    listed(ticker: string, isSame: boolean, lastMs: number, nowMs: number): 'request' | 'wrong' | undefined {
      const known = differences.get(ticker)
      if (isSame) {
        differences.delete(ticker)
        agreedMs.set(ticker, nowMs)
        return undefined
      }
      if (known === undefined) {
        const rightToMs = Math.max(lastMs, agreedMs.get(ticker) ?? 0)
        differences.set(ticker, { firstMs: nowMs, rightToMs, lists: 1, isConfirmed: false })
        return undefined
      }
      known.lists += 1
      if (known.lists === 2) return 'request'
      if (!known.isConfirmed || nowMs - known.firstMs > TIMES.maxListAgeMs) return 'wrong'
      known.rightToMs = nowMs
      return undefined
    },
    /** Until when a book was right if the lists are; undefined if they do not differ from it. */
    rightTo: (ticker: string): number | undefined => differences.get(ticker)?.rightToMs,
    /** The venue has sent the same book again, so what was recorded until now stays. */
    confirmed(ticker: string) {
      const known = differences.get(ticker)
      if (known !== undefined) known.isConfirmed = true
    },
    /** The book has changed, so a list that differs may just be older. */
    changed: (ticker: string) => void differences.delete(ticker),
    forget(ticker: string) {
      differences.delete(ticker)
      agreedMs.delete(ticker)
    },
  }
}
