/** Values on a script's stack, as far as they are known, and the script's numbers: little endian with a sign bit. */

/** A check of signatures. */
export interface SignatureCheck {
  /** Keys that must have signed the transaction for it to succeed, hex; empty where it can be one or another. */
  readonly keys: readonly string[]
  /** One of those that must have is a key to which the program commits. */
  readonly isOwn: boolean
}

export interface Value {
  /** Undefined: not known. */
  readonly bytes?: Uint8Array | undefined
  /** Pushed by the program itself: the address commits to it. What the spender brings may be anything. */
  readonly isFixed?: boolean
  /** The value is true only if these checks have succeeded. */
  readonly checks?: readonly SignatureCheck[]
}

export const UNKNOWN: Value = {}
/** Longer values are not looked at: whatever strangers write, an instruction costs a few microseconds at most. */
export const MAX_BYTES = 1_000
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

/** Every value but zero, in whatever length and sign it is written. Undefined: not known. */
export function truthOf({ bytes }: Value): boolean | undefined {
  if (bytes === undefined || bytes.length > MAX_CONDITION_BYTES) return undefined
  return bytes.some((byte, index) => byte !== 0 && !(byte === 0x80 && index === bytes.length - 1))
}

export function truthValue(truth: boolean): Value {
  return numberValue(truth ? 1n : 0n)
}
