/** Books that were requested or lost and have not come yet: when each is requested again, and when given up. */
import { KALSHI_TIMES as TIMES } from './describe.ts'

export function createAwaitedBooks() {
  const awaited = new Map<string, { sinceMs: number; nextMs: number }>()
  /** Kept when it came: a book that is lost again and again is not asked for as often. */
  const askedMs = new Map<string, number>()
  return {
    /** It comes with the subscription. */
    expect(ticker: string, nowMs: number) {
      if (!awaited.has(ticker)) awaited.set(ticker, { sinceMs: nowMs, nextMs: nowMs + TIMES.askAgainMs })
    },
    /** It is needed: at once, or a little later where it was asked for just now. */
    need(ticker: string, nowMs: number) {
      const soonMs = Math.max(nowMs, (askedMs.get(ticker) ?? Number.NEGATIVE_INFINITY) + TIMES.askSoonMs)
      const known = awaited.get(ticker)
      const nextMs = Math.min(known?.nextMs ?? soonMs, soonMs)
      awaited.set(ticker, { sinceMs: known?.sinceMs ?? nowMs, nextMs })
    },
    came: (ticker: string) => void awaited.delete(ticker),
    forget(ticker: string) {
      awaited.delete(ticker)
      askedMs.delete(ticker)
    },
    clear() {
      awaited.clear()
      askedMs.clear()
    },
    /** Those to be asked for now; they count as asked for. */
    takeDue(nowMs: number): string[] {
      const due = [...awaited].filter(([, { nextMs }]) => nextMs <= nowMs)
      for (const [ticker, each] of due) {
        askedMs.set(ticker, nowMs)
        each.nextMs = nowMs + TIMES.askAgainMs
      }
      return due.map(([ticker]) => ticker)
    },
    /** Those that have not come for too long. */
    hopeless: (nowMs: number, patienceMs: number): string[] =>
      [...awaited].filter(([, { sinceMs }]) => nowMs - sinceMs > patienceMs).map(([ticker]) => ticker),
    /** Time in which nothing could be read does not count. */
    forgive(ms: number) {
      for (const each of awaited.values()) {
        each.sinceMs += ms
        each.nextMs += ms
      }
    },
  }
}
