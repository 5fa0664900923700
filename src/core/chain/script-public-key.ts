/**
 * A script public key on the wire is one hex text: four digits of version (big-endian), then the script. Requests may
 * also spell it `{version, script}`. A node crashes on that form when a member has the wrong type, so every key is
 * rewritten to the hex form before it is sent anywhere.
 */
import { normaliseHex } from './hex.ts'

export interface ScriptPublicKey {
  readonly version: number
  /** lower-case hex */
  readonly script: string
}

export type NormalisedScriptPublicKey =
  | { readonly ok: true; readonly hex: string }
  | { readonly ok: false; readonly message: string }

const MAX_SCRIPT_BYTES = 10_000

const OBJECT_MEMBERS = new Set(['version', 'script'])

/** Converts either form to hex; anything else gives a message. */
export function normaliseScriptPublicKey(value: unknown): NormalisedScriptPublicKey {
  if (typeof value === 'string') return checked(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { ok: false, message: 'must be hex text: four digits of version, then the script' }
  }
  const { version, script } = value as { version?: unknown; script?: unknown }
  let isStrange = false
  for (const member in value) {
    isStrange = !OBJECT_MEMBERS.has(member)
    if (isStrange) break
  }
  if (isStrange) return { ok: false, message: 'the object form has exactly version and script' }
  const number = typeof version === 'bigint' && version <= 0xffffn ? Number(version) : version
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > 0xffff) {
    return { ok: false, message: 'version must be an integer from 0 to 65535' }
  }
  if (typeof script !== 'string') return { ok: false, message: 'script must be hex text' }
  return checked(number.toString(16).padStart(4, '0') + script)
}

function checked(text: string): NormalisedScriptPublicKey {
  if (text.length > 4 + MAX_SCRIPT_BYTES * 2) {
    return { ok: false, message: `a script has at most ${MAX_SCRIPT_BYTES} bytes` }
  }
  const hex = normaliseHex(text)
  if (hex === undefined) return { ok: false, message: 'must be hex text with two digits per byte' }
  if (hex.length < 4) return { ok: false, message: 'must start with four hex digits of version' }
  return { ok: true, hex }
}

/** Splits a hex form that is already normalised. */
export function splitScriptPublicKey(hex: string): ScriptPublicKey {
  return { version: Number.parseInt(hex.slice(0, 4), 16), script: hex.slice(4) }
}

export function joinScriptPublicKey(key: ScriptPublicKey): string {
  return key.version.toString(16).padStart(4, '0') + key.script
}
