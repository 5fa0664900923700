/** Little-endian byte strings for hashing; grows as needed. */
export class ByteWriter {
  #buffer = Buffer.allocUnsafe(1024)
  #length = 0

  #reserve(count: number): number {
    const at = this.#length
    this.#length += count
    if (this.#length > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(this.#length, this.#buffer.length * 2))
      this.#buffer.copy(grown, 0, 0, at)
      this.#buffer = grown
    }
    return at
  }

  u8(value: number): this {
    const at = this.#reserve(1)
    this.#buffer[at] = value
    return this
  }

  u16(value: number): this {
    const at = this.#reserve(2)
    this.#buffer.writeUInt16LE(value, at)
    return this
  }

  u32(value: number): this {
    const at = this.#reserve(4)
    this.#buffer.writeUInt32LE(value, at)
    return this
  }

  u64(value: bigint | number): this {
    const at = this.#reserve(8)
    this.#buffer.writeBigUInt64LE(BigInt(value), at)
    return this
  }

  hex(text: string): this {
    const at = this.#reserve(text.length >> 1)
    this.#buffer.write(text, at, 'hex')
    return this
  }

  /** u64 byte count, then the bytes. */
  varHex(text: string): this {
    return this.u64(text.length >> 1).hex(text)
  }

  bytes(data: Uint8Array): this {
    const at = this.#reserve(data.length)
    this.#buffer.set(data, at)
    return this
  }

  done(): Uint8Array {
    return this.#buffer.subarray(0, this.#length)
  }
}

export function fromHex(text: string): Uint8Array {
  return Buffer.from(text, 'hex')
}

export function toHex(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('hex')
}

const HEX = /^(?:[0-9a-f]{2})*$/i

export function isHex(text: string, byteLength?: number): boolean {
  return HEX.test(text) && (byteLength === undefined || text.length === byteLength * 2)
}
