/** Counts attempts by name within a window, in the memory of this process or in a store that all processes share. */
import { hash } from 'node:crypto'
import type { Clock } from '../kit/clock.ts'
import { Lru } from '../kit/lru.ts'
import type { AttemptCounts } from '../store/attempt-counts.ts'

/** Gives the counts for one kind of names. */
export type AttemptCounter = (kind: string) => AttemptCounts

const MAX_REMEMBERED = 50_000

/** A flood of new names evicts only idle names of the same kind. */
export function attemptsInMemory(clock: Clock): AttemptCounter {
  return () => {
    const known = new Lru<string, { count: number; sinceMs: number }>({ maxEntries: MAX_REMEMBERED })
    return {
      async addAttempts(names, windowMs) {
        const nowMs = clock.now()
        return names.map((name) => {
          const entry = known.get(name)
          const ageMs = nowMs - (entry?.sinceMs ?? Number.NEGATIVE_INFINITY)
          if (entry === undefined || ageMs < 0 || ageMs >= windowMs) {
            known.set(name, { count: 1, sinceMs: nowMs })
            return { before: 0, leftMs: windowMs }
          }
          return { before: entry.count++, leftMs: windowMs - ageMs }
        })
      },
      async takeBackAttempts(names) {
        for (const name of names) {
          const entry = known.get(name)
          if (entry !== undefined) entry.count = Math.max(0, entry.count - 1)
        }
      },
      async forgetAttempts(names) {
        for (const name of names) known.delete(name)
      },
    }
  }
}

/** Names are stored as hashes, because they are e-mails and addresses of people, some of whom have no account here. */
export function attemptsInStore(store: AttemptCounts): AttemptCounter {
  return (kind) => {
    const hashed = (names: readonly string[]) =>
      names.map((name) => hash('sha256', `${kind} ${name}`, 'base64url'))
    return {
      addAttempts: (names, windowMs) => store.addAttempts(hashed(names), windowMs),
      takeBackAttempts: (names) => store.takeBackAttempts(hashed(names)),
      forgetAttempts: (names) => store.forgetAttempts(hashed(names)),
    }
  }
}
