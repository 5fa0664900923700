/**
 * Books that were requested or lost and have not arrived yet: when each is requested again, and when it is given up.
 */
import { KALSHI_TIMES as TIMES } from './describe.ts'

export function createAwaitedBooks() {
  const awaited = new Map<string, { sinceMs: number; nextMs: number }>()
  /** Kept after the book arrived, so that a book that is lost repeatedly is not requested too often. */
  const askedMs = new Map<string, number>()
  return {
    /** The book will arrive with the subscription. */
    expect(ticker: string, nowMs: number) {
      if (!awaited.has(ticker)) awaited.set(ticker, { sinceMs: nowMs, nextMs: nowMs + TIMES.askAgainMs })
    },
    /** The book is needed: it is requested at once, or `askSoonMs` after its last request. */
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
    /** Returns the books to request now and counts them as requested. */
    takeDue(nowMs: number): string[] {
      const due = [...awaited].filter(([, { nextMs }]) => nextMs <= nowMs)
      for (const [ticker, each] of due) {
        askedMs.set(ticker, nowMs)
        each.nextMs = nowMs + TIMES.askAgainMs
      }
      return due.map(([ticker]) => ticker)
    },
    /** The books that have not arrived for too long. */
    hopeless: (nowMs: number, patienceMs: number): string[] =>
      [...awaited].filter(([, { sinceMs }]) => nowMs - sinceMs > patienceMs).map(([ticker]) => ticker),
    /** Time during which nothing could be read does not count. */
    forgive(ms: number) {
      for (const each of awaited.values()) {
        each.sinceMs += ms
        each.nextMs += ms
      }
    },
  }
}
