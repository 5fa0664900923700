import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { AccountsError } from './accounts.ts'
import { createHashQueue, type HashCaller } from './hash-queue.ts'

/**
 * argon2id, stored as `argon2id$memory$passes$parallelism$salt$tag`, so that stronger settings can be introduced later
 * without making old hashes unreadable.
 */
const SETTINGS = { memory: 19_456, passes: 2, parallelism: 1 }
const SALT_BYTES = 16
const TAG_BYTES = 32

/** Stored instead of a hash for an invited user without a password yet; no password matches it. */
export const NO_PASSWORD = 'none'

export const PASSWORD_LENGTH = { least: 10, most: 256 }

export function checkPassword(password: string): void {
  const { least, most } = PASSWORD_LENGTH
  if (password.length < least || password.length > most) {
    throw new AccountsError(`The password must have ${least} to ${most} characters.`)
  }
}

export type Passwords = ReturnType<typeof createPasswords>

const OURSELVES: HashCaller = { address: '', known: true }

export function createPasswords() {
  const queue = createHashQueue()
  const derive = (message: string, salt: Buffer, settings: typeof SETTINGS, caller: HashCaller) =>
    queue(caller, () => {
      const parameters: Argon2Parameters = { message, nonce: salt, tagLength: TAG_BYTES, ...settings }
      return promisify(argon2)('argon2id', parameters) as Promise<Buffer>
    })
  const nobody = { salt: randomBytes(SALT_BYTES), settings: SETTINGS, tag: Buffer.alloc(TAG_BYTES) }

  return {
    async hash(password: string, caller = OURSELVES) {
      const salt = randomBytes(SALT_BYTES)
      const tag = await derive(password, salt, SETTINGS, caller)
      const { memory, passes, parallelism } = SETTINGS
      const parts = [memory, passes, parallelism, salt.toString('base64url'), tag.toString('base64url')]
      return `argon2id$${parts.join('$')}`
    },
    /** Takes as long for an unknown user (undefined) or a user without a password as for a wrong password. */
    async verify(password: string, stored: string | undefined, caller = OURSELVES) {
      const known = stored === undefined || stored === NO_PASSWORD ? undefined : parse(stored)
      const { salt, settings, tag } = known ?? nobody
      const found = await derive(password, salt, settings, caller)
      return timingSafeEqual(found, tag) && known !== undefined
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
