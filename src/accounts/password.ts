import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/**
 * argon2id, stored as `argon2id$memory$passes$parallelism$salt$tag`, so that stronger settings can come
 * later without making old hashes unreadable. Few run at a time: each takes 19 MiB and a core for a moment.
 */
const SETTINGS = { memory: 19_456, passes: 2, parallelism: 1 }
const SALT_BYTES = 16
const TAG_BYTES = 32
const MOST_RUNNING = 2
const MOST_WAITING = 64

export const PASSWORD_LENGTH = { least: 10, most: 256 }

export class BusyError extends Error {
  override readonly name = 'BusyError'
}

export interface Passwords {
  hash(password: string): Promise<string>
  /** Takes as long for an unknown user (undefined) as for a wrong password. */
  verify(password: string, stored: string | undefined): Promise<boolean>
}

export function createPasswords(): Passwords {
  const slots = createSlots()
  const derive = (message: string, salt: Buffer, settings: typeof SETTINGS) =>
    slots(() => {
      const parameters: Argon2Parameters = { message, nonce: salt, tagLength: TAG_BYTES, ...settings }
      return promisify(argon2)('argon2id', parameters) as Promise<Buffer>
    })
  const nobody = { salt: randomBytes(SALT_BYTES), settings: SETTINGS, tag: Buffer.alloc(TAG_BYTES) }

  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES)
      const tag = await derive(password, salt, SETTINGS)
      const { memory, passes, parallelism } = SETTINGS
      const parts = [memory, passes, parallelism, salt.toString('base64url'), tag.toString('base64url')]
      return `argon2id$${parts.join('$')}`
    },
    async verify(password, stored) {
      const { salt, settings, tag } = stored === undefined ? nobody : parse(stored)
      const found = await derive(password, salt, settings)
      return timingSafeEqual(found, tag) && stored !== undefined
    },
  }
}

function parse(stored: string) {
  const [kind, memory, passes, parallelism, salt = '', tag = ''] = stored.split('$')
  if (kind !== 'argon2id') throw new Error('a stored password hash is not readable')
  return {
    salt: Buffer.from(salt, 'base64url'),
    settings: { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) },
    tag: Buffer.from(tag, 'base64url'),
  }
}

function createSlots() {
  const waiting: (() => void)[] = []
  let running = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= MOST_RUNNING) {
      if (waiting.length >= MOST_WAITING) throw new BusyError('too many sign-ins wait')
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
    running++
    try {
      return await work()
    } finally {
      running--
      waiting.shift()?.()
    }
  }
}
