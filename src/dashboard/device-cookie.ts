import type { IncomingHttpHeaders } from 'node:http'
import type { SecretBox } from '../kit/secret-box.ts'

/**
 * Marks a browser in which a user has signed in before. It grants no access: it only spares its owner the wait that
 * others' guesses cause. The e-mail in it is encrypted, so that nobody else can create one.
 */
const NAME = 'tapeline_device'
const PURPOSE = 'device '
const YEAR_SECONDS = 365 * 24 * 3_600
const MAX_VALUE = 1_024

export interface DeviceCookies {
  /** Whether the e-mail has signed in with this browser before. */
  knows(headers: IncomingHttpHeaders, email: string): boolean
  /** The `Set-Cookie` pair after a sign-in. */
  set(email: string): string[]
}

export function deviceCookies(options: { box: SecretBox; secure: boolean }): DeviceCookies {
  const { box } = options
  const attributes = `Path=/dashboard; HttpOnly; SameSite=Lax${options.secure ? '; Secure' : ''}`
  const textOf = (email: string) => PURPOSE + email.trim().toLowerCase()
  return {
    knows(headers, email) {
      for (const part of (headers.cookie ?? '').split(';')) {
        const [name = '', value = ''] = part.trim().split('=', 2)
        if (name !== NAME || value.length > MAX_VALUE) continue
        try {
          return box.open(value.replaceAll('-', '+').replaceAll('_', '/')) === textOf(email)
        } catch {
          // Not ours, or sealed under the key of another installation.
          return false
        }
      }
      return false
    },
    set(email) {
      const value = box.seal(textOf(email)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
      return ['Set-Cookie', `${NAME}=${value}; Max-Age=${YEAR_SECONDS}; ${attributes}`]
    },
  }
}
