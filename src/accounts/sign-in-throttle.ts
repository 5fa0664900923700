import { ActiveCounts } from '../kit/active-counts.ts'
import type { Clock } from '../kit/clock.ts'
import { addressGroup } from '../kit/ip-range.ts'
import { Lru } from '../kit/lru.ts'

/**
 * Slows guesses at passwords without ever locking an owner out. An attempt is counted before anything is
 * computed for it, so that many at once do not bypass it; a success is uncounted.
 *
 *   sign-in from a device that has signed in with the e-mail before: no wait, for the first wrong passwords
 *   any other: waits by what was counted for its e-mail and for its address (0–3: not at all, then 0.25 s … 10 s).
 *     The right password waits as long as a wrong one, and then passes.
 *   sign-up: counted by address, in names of its own; refused after 20 in a quarter of an hour
 *   change of the password: counted by user
 *
 * What waits is bounded: per e-mail, per address and in all.
 */
const WINDOW_MS = 15 * 60_000
const FREE_ATTEMPTS = 3
const FIRST_DELAY_MS = 250
const MAX_DELAY_MS = 10_000
/** Many users may share one address. */
const ADDRESS_FACTOR = 5
const MAX_SIGN_UPS = 20
/** Wrong passwords after which the known devices of an e-mail are treated like any other. */
const DEVICE_ATTEMPTS = 5
const MAX_REMEMBERED = 50_000

const MAX_UNDER_WAY = { email: 32, address: 16, device: 4, all: 1_000 }
const RETRY_AFTER_S = 10

export interface SignInAttempt {
  readonly email: string
  readonly address: string
  /** Whether it comes from a device that has signed in with this e-mail before. */
  readonly knownDevice: boolean
}

export interface SignInThrottle {
  /** Runs `verify` when it is its turn. Undefined, as from `verify`, is a failure. Rejects with TooManyAttempts. */
  signIn<T>(
    attempt: SignInAttempt,
    verify: (trust: { known: boolean }) => Promise<T | undefined>,
  ): Promise<T | undefined>
  signUp<T>(address: string, create: () => Promise<T>): Promise<T>
  changePassword(userId: string, change: () => Promise<boolean>): Promise<boolean>
}

export class TooManyAttempts extends Error {
  override readonly name = 'TooManyAttempts'
  readonly retryAfterS: number

  constructor(retryAfterS: number) {
    super(`Too many attempts. Try again in ${inWords(retryAfterS)}.`)
    this.retryAfterS = retryAfterS
  }
}

export function createSignInThrottle(clock: Clock): SignInThrottle {
  const emails = createCounter(clock)
  const addresses = createCounter(clock)
  const devices = createCounter(clock)
  const signUps = createCounter(clock)
  const changes = createCounter(clock)
  const underWay = createUnderWay()

  async function fromKnownDevice<T>(email: string, verify: () => Promise<T | undefined>) {
    const leave = underWay.enter({ device: email })
    devices.add(email)
    try {
      const found = await verify()
      if (found !== undefined) devices.takeBack(email)
      return found
    } catch (error) {
      devices.takeBack(email)
      throw error
    } finally {
      leave()
    }
  }

  async function fromAnywhere<T>(email: string, address: string, verify: () => Promise<T | undefined>) {
    const leave = underWay.enter({ email, address })
    const byAddress = Math.floor(addresses.countOf(address) / ADDRESS_FACTOR)
    const delayMs = delayAfter(Math.max(emails.countOf(email), byAddress))
    emails.add(email)
    addresses.add(address)
    try {
      if (delayMs > 0) await clock.sleep(delayMs)
      const found = await verify()
      if (found === undefined) return undefined
      emails.forget(email)
      // Only its own: one good account must not make guesses at others cheaper.
      addresses.takeBack(address)
      return found
    } catch (error) {
      // Nothing was verified, so nothing was guessed.
      emails.takeBack(email)
      addresses.takeBack(address)
      throw error
    } finally {
      leave()
    }
  }

  return {
    signIn(attempt, verify) {
      const email = attempt.email.trim().toLowerCase()
      if (attempt.knownDevice && devices.countOf(email) < DEVICE_ATTEMPTS) {
        return fromKnownDevice(email, () => verify({ known: true }))
      }
      return fromAnywhere(email, addressGroup(attempt.address), () => verify({ known: false }))
    },
    async signUp(address, create) {
      const name = addressGroup(address)
      const before = signUps.countOf(name)
      if (before >= MAX_SIGN_UPS) throw new TooManyAttempts(signUps.secondsLeft(name))
      signUps.add(name)
      if (delayAfter(before) > 0) await clock.sleep(delayAfter(before))
      return create()
    },
    async changePassword(userId, change) {
      const leave = underWay.enter({ device: `change ${userId}` })
      const delayMs = delayAfter(changes.countOf(userId))
      changes.add(userId)
      try {
        if (delayMs > 0) await clock.sleep(delayMs)
        const changed = await change()
        if (changed) changes.forget(userId)
        return changed
      } finally {
        leave()
      }
    },
  }
}

function delayAfter(count: number): number {
  if (count < FREE_ATTEMPTS) return 0
  return Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(count - FREE_ATTEMPTS, 16))
}

/** Attempts by name within a window. A flood of new names evicts names that are not in use. */
function createCounter(clock: Clock) {
  const known = new Lru<string, { count: number; sinceMs: number }>({ maxEntries: MAX_REMEMBERED })
  const find = (name: string) => {
    const entry = known.get(name)
    if (entry === undefined) return undefined
    const ageMs = clock.now() - entry.sinceMs
    return ageMs >= 0 && ageMs < WINDOW_MS ? entry : undefined
  }
  return {
    countOf: (name: string) => find(name)?.count ?? 0,
    add(name: string) {
      const entry = find(name)
      if (entry === undefined) known.set(name, { count: 1, sinceMs: clock.now() })
      else entry.count++
    },
    takeBack(name: string) {
      const entry = find(name)
      if (entry !== undefined) entry.count--
    },
    forget: (name: string) => known.delete(name),
    secondsLeft(name: string) {
      const entry = find(name)
      return entry === undefined ? 1 : Math.ceil((entry.sinceMs + WINDOW_MS - clock.now()) / 1000)
    },
  }
}

/** How many attempts wait or are verified: by e-mail, by address, by what is known, and in all. */
function createUnderWay() {
  const counts = {
    email: new ActiveCounts<string>(),
    address: new ActiveCounts<string>(),
    device: new ActiveCounts<string>(),
  }
  let all = 0
  return {
    enter(names: Partial<Record<keyof typeof counts, string>>): () => void {
      const named = Object.entries(names) as [keyof typeof counts, string][]
      const isFull = named.some(([kind, name]) => counts[kind].of(name) >= MAX_UNDER_WAY[kind])
      // Known names have a bound of their own, so that a flood of unknown ones never displaces them.
      if (isFull || (names.device === undefined && all >= MAX_UNDER_WAY.all)) {
        throw new TooManyAttempts(RETRY_AFTER_S)
      }
      all++
      const ends = named.map(([kind, name]) => counts[kind].add(name))
      return () => {
        all--
        for (const end of ends) end()
      }
    },
  }
}

function inWords(seconds: number): string {
  return seconds < 60 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`
}
