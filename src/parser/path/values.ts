/** Values on a script's stack, as far as they are known, and script numbers: little-endian with a sign bit. */

/** One signature check of a program. */
export interface SignatureCheck {
  /**
   * Keys, in hex, that must have signed the transaction for the check to succeed; empty if it can be any of several.
   */
  readonly keys: readonly string[]
  /** At least one key that must have signed is a key to which the program commits. */
  readonly isOwn: boolean
}

export interface Value {
  /** Undefined if unknown. */
  readonly bytes?: Uint8Array | undefined
  /** Pushed by the program itself, so the address commits to it. Values supplied by the spender may be anything. */
  readonly isFixed?: boolean
  /** The value is true only if these checks have succeeded; at most `MAX_CHECKS`. */
  readonly checks?: readonly SignatureCheck[]
}

export const UNKNOWN: Value = {}
/**
 * Longer values are not computed, so that an instruction costs at most a few microseconds, whatever strangers write.
 */
export const MAX_BYTES = 1_000
/** A value that requires more checks is unknown, which promises less. */
export const MAX_CHECKS = 64
const MAX_NUMBER_BYTES = 8
const MAX_CONDITION_BYTES = 80

export function numberOf({ bytes }: Value): bigint | undefined {
  if (bytes === undefined || bytes.length > MAX_NUMBER_BYTES) return undefined
  let number = 0n
  for (let at = bytes.length - 1; at >= 0; at--) {
    const byte = bytes[at] ?? 0
    number = (number << 8n) | BigInt(at === bytes.length - 1 ? byte & 0x7f : byte)
  }
  return (bytes.at(-1) ?? 0) >= 0x80 ? -number : number
}

export function numberValue(number: bigint): Value {
  const bytes: number[] = []
  for (let rest = number < 0n ? -number : number; rest > 0n; rest >>= 8n) bytes.push(Number(rest & 0xffn))
  const last = bytes.at(-1) ?? 0
  if (last >= 0x80) bytes.push(number < 0n ? 0x80 : 0)
  else if (number < 0n) bytes[bytes.length - 1] = last | 0x80
  return { bytes: Uint8Array.from(bytes) }
}

/** Every value except zero, in any length and with either sign, is true. Undefined if unknown. */
export function truthOf({ bytes }: Value): boolean | undefined {
  if (bytes === undefined || bytes.length > MAX_CONDITION_BYTES) return undefined
  return bytes.some((byte, index) => byte !== 0 && !(byte === 0x80 && index === bytes.length - 1))
}

export function truthValue(truth: boolean): Value {
  return numberValue(truth ? 1n : 0n)
}
