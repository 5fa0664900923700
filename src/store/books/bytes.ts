/**
 * Numbers and texts as bytes. A number is stored with seven bits per byte, lowest first; the eighth bit means that more
 * bytes follow. Small numbers take one byte, and every integer that JavaScript holds exactly can be stored.
 */
export interface VarintWriter {
  /** An integer, 0 or above. */
  number(value: number): void
  /** An integer of either sign; small absolute values stay small. */
  signed(value: number): void
  text(value: string): void
  /** Another writer's bytes, preceded by their length. */
  section(other: VarintWriter): void
  bytes(): Uint8Array
}

export interface VarintReader {
  number(): number
  signed(): number
  text(): string
  section(): VarintReader
  /** The number of bytes read so far. */
  position(): number
  /** A reader of the same bytes from a position on. */
  from(position: number): VarintReader
}

const FIRST_BYTES = 256
const MORE = 0x80

export function byteWriter(): VarintWriter {
  let buffer = new Uint8Array(FIRST_BYTES)
  let length = 0

  const room = (bytes: number) => {
    if (length + bytes <= buffer.length) return
    const larger = new Uint8Array(Math.max(buffer.length * 2, length + bytes))
    larger.set(buffer)
    buffer = larger
  }
  const put = (value: Uint8Array) => {
    number(value.length)
    room(value.length)
    buffer.set(value, length)
    length += value.length
  }
  const number = (value: number) => {
    room(8)
    let rest = value
    while (rest >= MORE) {
      buffer[length++] = (rest % MORE) | MORE
      rest = Math.floor(rest / MORE)
    }
    buffer[length++] = rest
  }

  return {
    number,
    signed: (value) => number(value < 0 ? -2 * value - 1 : 2 * value),
    text: (value) => put(Buffer.from(value)),
    section: (other) => put(other.bytes()),
    bytes: () => buffer.subarray(0, length),
  }
}

export function byteReader(bytes: Uint8Array, start = 0): VarintReader {
  let at = start

  const number = () => {
    let value = 0
    let factor = 1
    for (;;) {
      const byte = bytes[at++]
      if (byte === undefined) throw new RangeError('a block of books ends too early')
      if (byte < MORE) return value + byte * factor
      value += (byte - MORE) * factor
      factor *= MORE
    }
  }
  const take = () => {
    const size = number()
    at += size
    return bytes.subarray(at - size, at)
  }

  return {
    number,
    signed() {
      const value = number()
      return value % 2 === 0 ? value / 2 : -(value + 1) / 2
    },
    text() {
      const taken = take()
      return Buffer.from(taken.buffer, taken.byteOffset, taken.byteLength).toString()
    },
    section: () => byteReader(take()),
    position: () => at,
    from: (position) => byteReader(bytes, position),
  }
}
