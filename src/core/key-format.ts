import { crc32 } from 'node:zlib'
import { ENVIRONMENTS, type Environment } from './environment.ts'

/**
 * `svc_live_` or `svc_test_`, 32 base62 characters, and a 6-character checksum (CRC32 of everything before it, in
 * base62), so that a typo is recognised without looking the key up.
 */
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 32
const CHECKSUM_LENGTH = 6
const FORM = /^svc_(live|test)_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/

function keyPrefix(environment: Environment): string {
  return `svc_${environment}_`
}

/** Builds a key from random bytes. Bytes from 248 up are skipped, because they would favour some characters. */
export function formatKey(environment: Environment, randomBytes: (count: number) => Uint8Array): string {
  let secret = ''
  while (secret.length < SECRET_LENGTH) {
    for (const byte of randomBytes(SECRET_LENGTH)) {
      if (byte < 248 && secret.length < SECRET_LENGTH) secret += BASE62[byte % 62]
    }
  }
  const body = keyPrefix(environment) + secret
  return body + checksum(body)
}

export type KeyReading = { ok: true; environment: Environment } | { ok: false; problem: string }

/** The environment of a well-formed key, or what is wrong with the key's form. */
export function readKey(text: string): KeyReading {
  const match = FORM.exec(text)
  if (match === null) {
    const known = ENVIRONMENTS.some((environment) => text.startsWith(keyPrefix(environment)))
    return {
      ok: false,
      problem: known
        ? 'its length or characters are wrong'
        : 'it starts with neither svc_live_ nor svc_test_',
    }
  }
  const body = text.slice(0, -CHECKSUM_LENGTH)
  if (checksum(body) !== match[3]) return { ok: false, problem: 'its checksum does not fit (a typo?)' }
  return { ok: true, environment: match[1] === 'live' ? 'live' : 'test' }
}

function checksum(text: string): string {
  let value = crc32(text)
  let out = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    out = (BASE62[value % 62] ?? '') + out
    value = Math.floor(value / 62)
  }
  return out
}
