/** Books that were requested or lost and have not come yet: when each is requested again, and when given up. */
import { KALSHI_TIMES as TIMES } from './describe.ts'

export interface AwaitedBooks {
  /** It comes with the subscription. */
  expect(ticker: string, nowMs: number): void
  /** It is needed: at once, or a little later where it was asked for just now. */
  need(ticker: string, nowMs: number): void
  came(ticker: string): void
  forget(ticker: string): void
  clear(): void
  /** Those to be asked for now; they count as asked for. */
  takeDue(nowMs: number): string[]
  /** Those that have not come for too long. */
  hopeless(nowMs: number, patienceMs: number): string[]
  /** Time in which nothing could be read does not count. */
  forgive(ms: number): void
}

export function createAwaitedBooks(): AwaitedBooks {
  const awaited = new Map<string, { sinceMs: number; nextMs: number }>()
  /** Kept when it came: a book that is lost again and again is not asked for as often. */
  const askedMs = new Map<string, number>()
  return {
    expect(ticker, nowMs) {
      if (!awaited.has(ticker)) awaited.set(ticker, { sinceMs: nowMs, nextMs: nowMs + TIMES.askAgainMs })
    },
    need(ticker, nowMs) {
      const soonMs = Math.max(nowMs, (askedMs.get(ticker) ?? Number.NEGATIVE_INFINITY) + TIMES.askSoonMs)
      const known = awaited.get(ticker)
      const nextMs = Math.min(known?.nextMs ?? soonMs, soonMs)
      awaited.set(ticker, { sinceMs: known?.sinceMs ?? nowMs, nextMs })
    },
    came: (ticker) => void awaited.delete(ticker),
    forget(ticker) {
      awaited.delete(ticker)
      askedMs.delete(ticker)
    },
    clear() {
      awaited.clear()
      askedMs.clear()
    },
    takeDue(nowMs) {
      const due = [...awaited].filter(([, { nextMs }]) => nextMs <= nowMs)
      for (const [ticker, each] of due) {
        askedMs.set(ticker, nowMs)
        each.nextMs = nowMs + TIMES.askAgainMs
      }
      return due.map(([ticker]) => ticker)
    },
    hopeless: (nowMs, patienceMs) =>
      [...awaited].filter(([, { sinceMs }]) => nowMs - sinceMs > patienceMs).map(([ticker]) => ticker),
    forgive(ms) {
      for (const each of awaited.values()) {
        each.sinceMs += ms
        each.nextMs += ms
      }
    },
  }
}
