import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { SecretBox } from '../kit/secret-box.ts'

const SESSION = 'tapeline_session'
const TOKEN_BYTES = 32
const VISIT_SECONDS = 24 * 3_600
const DEVICE = 'tapeline_device'
const DEVICE_SECONDS = 365 * 24 * 3_600
const MAX_DEVICE_CHARS = 1_024

export type SessionCookies = ReturnType<typeof sessionCookies>

/**
 * One cookie for visitors and signed-in users; signing in replaces its value. The CSRF token is derived from the
 * cookie, which only the server can read, so only pages served by this server can know the token.
 */
export function sessionCookies(options: { secure: boolean }) {
  const csrfOf = (token: string) => hash('sha256', `csrf ${token}`, 'base64url')
  return {
    read: (headers: IncomingHttpHeaders) =>
      readCookies(headers, SESSION).find((value) => /^[\w-]{43}$/.test(value)),
    /** The `Set-Cookie` pair for a value. */
    set: (token: string, seconds = VISIT_SECONDS) => setCookie(SESSION, token, Math.floor(seconds), options),
    newToken: () => randomBytes(TOKEN_BYTES).toString('base64url'),
    csrfOf,
    csrfFits(token: string | undefined, given: unknown): boolean {
      if (token === undefined || typeof given !== 'string') return false
      const [a, b] = [Buffer.from(csrfOf(token)), Buffer.from(given)]
      return a.length === b.length && timingSafeEqual(a, b)
    },
  }
}

export type DeviceCookies = ReturnType<typeof deviceCookies>

/**
 * Marks a browser in which a user has signed in before. It grants no access and only spares its owner the wait that
 * other people's guesses cause. The e-mail in it is encrypted, so that nobody else can create one.
 */
export function deviceCookies(options: { box: SecretBox; secure: boolean }) {
  const { box } = options
  const textOf = (email: string) => `device ${email.trim().toLowerCase()}`
  return {
    /** Whether the e-mail has signed in with this browser before. */
    knows(headers: IncomingHttpHeaders, email: string): boolean {
      const value = readCookies(headers, DEVICE).find((text) => text.length <= MAX_DEVICE_CHARS)
      try {
        return (
          value !== undefined && box.open(value.replaceAll('-', '+').replaceAll('_', '/')) === textOf(email)
        )
      } catch {
        // Not our cookie, or sealed with the key of another installation.
        return false
      }
    },
    /** The `Set-Cookie` pair after a sign-in. */
    set(email: string) {
      const value = box.seal(textOf(email)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
      return setCookie(DEVICE, value, DEVICE_SECONDS, options)
    },
  }
}

function readCookies({ cookie = '' }: IncomingHttpHeaders, name: string): string[] {
  const pairs = cookie.split(';').map((part) => part.trim().split('='))
  return pairs.flatMap(([found, value]) => (found === name && value !== undefined ? [value] : []))
}

function setCookie(name: string, value: string, seconds: number, { secure }: { secure: boolean }): string[] {
  const attributes = `Path=/dashboard; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
  return ['Set-Cookie', `${name}=${value}; Max-Age=${seconds}; ${attributes}`]
}
