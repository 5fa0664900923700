import type { Clock } from '../kit/clock.ts'
import { Lru } from '../kit/lru.ts'

/**
 * Slows sign-in after failures, counted per e-mail and per address. The right password waits as long as a
 * wrong one, so that waiting tells nothing; after many failures attempts are refused for a while.
 *
 *   0–2 failures: at once · then 0.25 s, 0.5 s … 4 s · from 20 on: refused until the window is over
 */
const WINDOW_MS = 15 * 60_000
const FREE_FAILURES = 3
const FIRST_DELAY_MS = 250
const LONGEST_DELAY_MS = 4_000
const MOST_FAILURES = 20
/** Many people may share one address. */
const ADDRESS_FACTOR = 5
const REMEMBERED = 50_000

export interface SignInGuard {
  /** Waits; returns the seconds to wait longer when it is refused. */
  before(email: string, address: string): Promise<number | undefined>
  failed(email: string, address: string): void
  succeeded(email: string): void
}

export function createSignInGuard(clock: Clock): SignInGuard {
  const failures = new Lru<string, { count: number; sinceMs: number }>({ maxEntries: REMEMBERED })
  const countOf = (name: string) => {
    const known = failures.get(name)
    return known !== undefined && clock.now() - known.sinceMs < WINDOW_MS ? known : undefined
  }
  const note = (name: string) => {
    const known = countOf(name) ?? { count: 0, sinceMs: clock.now() }
    known.count++
    failures.set(name, known)
  }
  const names = (email: string, address: string) => [`e ${email.toLowerCase()}`, `a ${address}`] as const

  return {
    async before(email, address) {
      const [byEmail, byAddress] = names(email, address)
      const [person, place] = [countOf(byEmail), countOf(byAddress)]
      const count = Math.max(person?.count ?? 0, Math.floor((place?.count ?? 0) / ADDRESS_FACTOR))
      if (count >= MOST_FAILURES) {
        const sinceMs = Math.max(person?.sinceMs ?? 0, place?.sinceMs ?? 0)
        return Math.ceil((sinceMs + WINDOW_MS - clock.now()) / 1000)
      }
      if (count >= FREE_FAILURES) {
        await clock.sleep(Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (count - FREE_FAILURES)))
      }
      return undefined
    },
    failed(email, address) {
      for (const name of names(email, address)) note(name)
    },
    succeeded: (email) => failures.delete(names(email, '')[0]),
  }
}
