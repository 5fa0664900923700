import { ActiveCounts } from '../kit/active-counts.ts'
import type { Clock } from '../kit/clock.ts'
import { addressGroup } from '../kit/ip-range.ts'
import type { AttemptCounts } from '../store/attempt-counts.ts'
import { type AttemptCounter, attemptsInMemory } from './count-attempts.ts'

/**
 * Slows down password guessing without ever locking an owner out. An attempt is counted before anything is computed for
 * it, so that many at once do not bypass the limit; a success is uncounted.
 *
 *   sign-in from a device that has signed in with the e-mail before: no wait for the first wrong passwords
 *   any other: waits by the count of its e-mail and of its address (the first 3 not at all, then 0.25 s … 10 s).
 *     The right password waits as long as a wrong one, and then passes.
 *   sign-up: counted by address, apart from sign-ins; refused after 20 in a quarter of an hour
 *   change of the password: counted by user; refused after 10 successful changes within a day
 *
 * The number of waiting attempts is limited per e-mail, per address and in total, in each process. The counts are
 * shared by all processes if they use a shared store.
 */
const WINDOW_MS = 15 * 60_000
const FREE_ATTEMPTS = 3
const FIRST_DELAY_MS = 250
const MAX_DELAY_MS = 10_000
/** Many users may share one address. */
const ADDRESS_FACTOR = 5
const MAX_SIGN_UPS = 20
/** Each change costs two hashes and stays in the audit log. */
const MAX_CHANGES = 10
const CHANGES_MS = 24 * 3_600_000
/** Wrong passwords after which the known devices of an e-mail are treated like any other. */
const DEVICE_ATTEMPTS = 5

const MAX_UNDER_WAY = { email: 32, address: 16, device: 4, all: 1_000 }
const RETRY_AFTER_S = 10

export interface SignInAttempt {
  readonly email: string
  readonly address: string
  /** Whether the attempt comes from a device that has signed in with this e-mail before. */
  readonly knownDevice: boolean
}

export interface SignInThrottle {
  /** Runs `verify` when it is its turn; undefined means failure, as in `verify`. Rejects with TooManyAttempts. */
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

  constructor(retryAfterS: number, why = 'Too many attempts.') {
    super(`${why} Try again in ${inWords(retryAfterS)}.`)
    this.retryAfterS = retryAfterS
  }
}

export function createSignInThrottle(
  clock: Clock,
  counts: AttemptCounter = attemptsInMemory(clock),
): SignInThrottle {
  const emails = counter(counts('email'))
  const addresses = counter(counts('address'))
  const devices = counter(counts('device'))
  const signUps = counter(counts('sign-up'))
  const changes = counter(counts('change'))
  const changed = counter(counts('changed'), CHANGES_MS)
  const underWay = createUnderWay()

  /** Undefined when the device has guessed too often and is treated like any other. */
  async function fromKnownDevice<T>(email: string, verify: () => Promise<T | undefined>) {
    const leave = underWay.enter({ device: email })
    try {
      if ((await devices.add(email)).before >= DEVICE_ATTEMPTS) return undefined
      const found = await verify().catch(async (error) => {
        await devices.takeBack(email)
        throw error
      })
      if (found !== undefined) await devices.takeBack(email)
      return { found }
    } finally {
      leave()
    }
  }

  async function fromAnywhere<T>(email: string, address: string, verify: () => Promise<T | undefined>) {
    const leave = underWay.enter({ email, address })
    try {
      const [byEmail, byAddress] = await Promise.all([emails.add(email), addresses.add(address)])
      const delayMs = delayAfter(Math.max(byEmail.before, Math.floor(byAddress.before / ADDRESS_FACTOR)))
      if (delayMs > 0) await clock.sleep(delayMs)
      const found = await verify().catch(async (error) => {
        // Nothing was verified, so nothing was guessed.
        await Promise.all([emails.takeBack(email), addresses.takeBack(address)])
        throw error
      })
      if (found === undefined) return undefined
      // Only this attempt is taken back for the address, because one good account must not make guesses at others
      // cheaper.
      await Promise.all([emails.forget(email), addresses.takeBack(address)])
      return found
    } finally {
      leave()
    }
  }

  async function withinDay(userId: string, change: () => Promise<boolean>): Promise<boolean> {
    const { before, leftMs } = await changed.add(userId)
    if (before >= MAX_CHANGES) {
      const why = `The password was changed ${MAX_CHANGES} times within a day.`
      throw new TooManyAttempts(Math.ceil(leftMs / 1000), why)
    }
    let isChanged = false
    try {
      isChanged = await change()
      if (isChanged) await changes.forget(userId)
      return isChanged
    } finally {
      if (!isChanged) await changed.takeBack(userId)
    }
  }

  return {
    async signIn(attempt, verify) {
      const email = attempt.email.trim().toLowerCase()
      const known = attempt.knownDevice
        ? await fromKnownDevice(email, () => verify({ known: true }))
        : undefined
      if (known !== undefined) return known.found
      return fromAnywhere(email, addressGroup(attempt.address), () => verify({ known: false }))
    },
    async signUp(address, create) {
      const { before, leftMs } = await signUps.add(addressGroup(address))
      if (before >= MAX_SIGN_UPS) throw new TooManyAttempts(Math.ceil(leftMs / 1000))
      if (delayAfter(before) > 0) await clock.sleep(delayAfter(before))
      return create()
    },
    async changePassword(userId, change) {
      const leave = underWay.enter({ device: `change ${userId}` })
      try {
        const delayMs = delayAfter((await changes.add(userId)).before)
        if (delayMs > 0) await clock.sleep(delayMs)
        return await withinDay(userId, change)
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

function counter(counts: AttemptCounts, windowMs = WINDOW_MS) {
  // If the store fails to uncount an attempt, a later one is delayed, but the sign-in that just succeeded does not
  // fail.
  const uncount = (done: Promise<void>) => done.catch(() => {})
  return {
    async add(name: string) {
      const [count] = await counts.addAttempts([name], windowMs)
      return count ?? { before: 0, leftMs: windowMs }
    },
    takeBack: (name: string) => uncount(counts.takeBackAttempts([name])),
    forget: (name: string) => uncount(counts.forgetAttempts([name])),
  }
}

/** How many attempts are waiting or being verified: by e-mail, by address, by known device or user, and in total. */
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
      // Known devices and users have their own limit, so that a flood of unknown ones never displaces them.
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
  if (seconds < 60) return `${seconds} seconds`
  return seconds < 7_200 ? `${Math.ceil(seconds / 60)} minutes` : `${Math.ceil(seconds / 3_600)} hours`
}
