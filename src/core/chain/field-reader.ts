/**
 * Reads members of parsed JSON and collects every fault with its path instead of stopping at the first. A refused
 * member yields a harmless value, so that reading can continue; the result is valid only if there are no faults.
 */
import { MAX_FAULTS } from '../errors.ts'
import { normaliseHex } from './hex.ts'

export interface FieldFault {
  readonly path: string
  readonly message: string
}

export const MAX_U64 = 0xffff_ffff_ffff_ffffn
const DECIMAL = /^(?:0|[1-9]\d{0,19})$/

export type Members = Readonly<Record<string, unknown>>

export class FieldReader {
  readonly faults: FieldFault[] = []

  /** The caller should stop reading: there are enough faults to correct the input. */
  get isFull(): boolean {
    return this.faults.length >= MAX_FAULTS
  }

  fault(path: string, message: string): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push({ path, message })
  }

  members(value: unknown, path: string): Members | undefined {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Members
    this.fault(path, value === undefined ? 'is missing' : 'must be an object')
    return undefined
  }

  list(value: unknown, path: string, max: number): readonly unknown[] {
    if (!Array.isArray(value)) {
      this.fault(path, value === undefined ? 'is missing' : 'must be an array')
      return []
    }
    if (value.length <= max) return value
    this.fault(path, `has ${value.length} entries, at most ${max} are allowed`)
    return []
  }

  /** An unsigned integer of up to 64 bits: a bigint, an exact number or decimal text. */
  unsigned(value: unknown, path: string, max: bigint): bigint {
    const read = readUnsigned(value)
    if (typeof read === 'bigint' && read <= max) return read
    this.fault(path, typeof read === 'string' ? read : `must be at most ${max}`)
    return 0n
  }

  integer(value: unknown, path: string, max: number): number {
    return Number(this.unsigned(value, path, BigInt(max)))
  }

  hex(value: unknown, path: string, maxBytes: number): string {
    if (typeof value === 'string' && value.length > maxBytes * 2) {
      this.fault(path, `has at most ${maxBytes} bytes`)
      return ''
    }
    const hex = normaliseHex(value)
    if (hex === undefined) this.fault(path, value === undefined ? 'is missing' : 'must be hex text')
    return hex ?? ''
  }

  fixedHex(value: unknown, path: string, bytes: number): string {
    const hex = normaliseHex(value, bytes)
    if (hex === undefined) {
      this.fault(path, value === undefined ? 'is missing' : `must be ${bytes * 2} hex digits`)
    }
    return hex ?? ''
  }
}

/** The value, or a message that says why it is not valid. */
function readUnsigned(value: unknown): bigint | string {
  if (typeof value === 'bigint') return value < 0n ? 'must not be negative' : value
  if (typeof value === 'number') {
    if (!Number.isInteger(value) || value < 0) return 'must be an unsigned integer'
    if (!Number.isSafeInteger(value)) return 'lost digits as a number: send it as decimal text'
    return BigInt(value)
  }
  if (typeof value === 'string') return DECIMAL.test(value) ? BigInt(value) : 'must be a decimal integer'
  return value === undefined ? 'is missing' : 'must be an unsigned integer'
}
