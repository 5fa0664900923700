import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/**
 * One cookie for visitors and signed-in users; signing in replaces its value. The CSRF token follows from
 * it, but only the server can read the cookie, so only pages that the server answers can know the token.
 */
const NAME = 'tapeline_session'
const TOKEN_BYTES = 32
const VISIT_SECONDS = 24 * 3_600

export interface SessionCookies {
  read(headers: IncomingHttpHeaders): string | undefined
  /** The `Set-Cookie` pair for a value. */
  set(token: string, seconds?: number): string[]
  newToken(): string
  csrfOf(token: string): string
  csrfFits(token: string | undefined, given: unknown): boolean
}

export function sessionCookies(options: { secure: boolean }): SessionCookies {
  const attributes = `Path=/dashboard; HttpOnly; SameSite=Lax${options.secure ? '; Secure' : ''}`
  const csrfOf = (token: string) => hash('sha256', `csrf ${token}`, 'base64url')
  return {
    read(headers) {
      for (const part of (headers.cookie ?? '').split(';')) {
        const [name, value] = part.trim().split('=')
        if (name === NAME && value !== undefined && /^[\w-]{43}$/.test(value)) return value
      }
      return undefined
    },
    set: (token, seconds = VISIT_SECONDS) => [
      'Set-Cookie',
      `${NAME}=${token}; Max-Age=${Math.floor(seconds)}; ${attributes}`,
    ],
    newToken: () => randomBytes(TOKEN_BYTES).toString('base64url'),
    csrfOf,
    csrfFits(token, given) {
      if (token === undefined || typeof given !== 'string') return false
      const [a, b] = [Buffer.from(csrfOf(token)), Buffer.from(given)]
      return a.length === b.length && timingSafeEqual(a, b)
    },
  }
}
