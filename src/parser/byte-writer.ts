/** Writes the chain's binary form (little-endian, 64-bit lengths) into a buffer of known size. */
export class ByteWriter {
  readonly #buffer: Buffer
  #at = 0

  constructor(size: number) {
    this.#buffer = Buffer.allocUnsafe(size)
  }

  u8(value: number): void {
    this.#buffer[this.#at++] = value
  }

  u16(value: number): void {
    this.#at = this.#buffer.writeUInt16LE(value, this.#at)
  }

  u32(value: number): void {
    this.#at = this.#buffer.writeUInt32LE(value, this.#at)
  }

  u64(value: bigint): void {
    this.#at = this.#buffer.writeBigUInt64LE(value, this.#at)
  }

  length(value: number): void {
    this.u32(value)
    this.u32(0)
  }

  hex(text: string): void {
    this.#at += this.#buffer.write(text, this.#at, 'hex')
  }

  /** Writes the length, then the bytes. */
  lengthAndHex(text: string): void {
    this.length(text.length / 2)
    this.hex(text)
  }

  /** Throws unless the buffer is full, because a miscalculated size must never become a wrong hash. */
  bytes(): Uint8Array {
    if (this.#at !== this.#buffer.length) {
      throw new RangeError(`wrote ${this.#at} of ${this.#buffer.length} bytes`)
    }
    return this.#buffer
  }
}
