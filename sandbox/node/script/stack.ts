/** Items of the script stack: bytes that may represent a number (sign and magnitude, little-endian). */
export class ScriptError extends Error {}

export function isTrue(item: Uint8Array): boolean {
  for (let i = 0; i < item.length; i++) {
    if (item[i] !== 0) return !(i === item.length - 1 && item[i] === 0x80)
  }
  return false
}

export function toNumber(item: Uint8Array): bigint {
  if (item.length > 8) {
    throw new ScriptError(
      `Number too big: numeric value encoded as ${[...item]} is ${item.length} bytes which exceeds the max allowed of 8`,
    )
  }
  let value = 0n
  for (let i = item.length - 1; i >= 0; i--) {
    const byte = item[i] ?? 0
    value = (value << 8n) | BigInt(i === item.length - 1 ? byte & 0x7f : byte)
  }
  return ((item.at(-1) ?? 0) & 0x80) !== 0 ? -value : value
}

/** The shortest encoding, or exactly `size` bytes if given. */
export function fromNumber(value: bigint, size?: number): Uint8Array {
  const negative = value < 0n
  const bytes: number[] = []
  for (let rest = negative ? -value : value; rest > 0n; rest >>= 8n) bytes.push(Number(rest & 0xffn))
  if (((bytes.at(-1) ?? 0) & 0x80) !== 0) bytes.push(0)
  if (size !== undefined) {
    if (bytes.length > size) throw new ScriptError(`Number exceeds ${size} bytes: ${value}`)
    while (bytes.length < size) bytes.push(0)
  }
  const last = bytes.length - 1
  if (negative) bytes[last] = (bytes[last] ?? 0) | 0x80
  return Uint8Array.from(bytes)
}

export function fromBoolean(value: boolean): Uint8Array {
  return value ? Uint8Array.of(1) : new Uint8Array()
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}
