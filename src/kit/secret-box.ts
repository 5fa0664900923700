import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { RandomBytes } from './random.ts'

/**
 * Signing needs the plain secret, so it cannot be stored as a hash. It is stored encrypted with a key of this
 * installation, so that a copy of the database alone cannot sign anything.
 */
export interface SecretBox {
  seal(text: string): string
  open(sealed: string): string
}

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** @param key 32 bytes */
export function createSecretBox(key: Buffer, randomBytes: RandomBytes): SecretBox {
  return {
    seal(text) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce)
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')
    },
    open(sealed) {
      const bytes = Buffer.from(sealed, 'base64')
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES))
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
      const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
      return Buffer.concat([text, decipher.final()]).toString('utf8')
    },
  }
}
