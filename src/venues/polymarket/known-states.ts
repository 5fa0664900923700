/**
 * The states that a book had after its last frames, by the venue's hash. On a busy market the venue's own book is several
 * frames old when it arrives: it is compared with the state that it is of, of which a checksum is enough.
 */
import type { BookSide, MicroLevels } from '../../core/order-book.ts'

/** Some seconds of the busiest market. */
const MAX_STATES = 512

export interface KnownState {
  readonly checksum: number
  readonly timeMs: number
}

export class KnownStates {
  readonly #byHash = new Map<string, KnownState>()

  add(hash: string, state: KnownState): void {
    this.#byHash.delete(hash)
    this.#byHash.set(hash, state)
    const [oldest] = this.#byHash.keys()
    if (this.#byHash.size > MAX_STATES && oldest !== undefined) this.#byHash.delete(oldest)
  }

  of(hash: string): KnownState | undefined {
    return this.#byHash.get(hash)
  }

  clear(): void {
    this.#byHash.clear()
  }
}

/** The sum of those of its levels, so that a change of a level is a difference. */
export function checksumOf({ bids, asks }: MicroLevels): number {
  let sum = 0
  for (const [price, size] of bids) sum = (sum + levelChecksum('bids', price, size)) | 0
  for (const [price, size] of asks) sum = (sum + levelChecksum('asks', price, size)) | 0
  return sum
}

/** 0 for a level that is not there. */
export function levelChecksum(side: BookSide, price: number, size: number): number {
  if (size === 0) return 0
  let mixed = Math.imul(price ^ (side === 'bids' ? 0x2c1b3c6d : 0x297a2d39), 0x9e3779b1)
  mixed = Math.imul(mixed ^ (mixed >>> 15) ^ (size | 0), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13) ^ Math.floor(size / 2 ** 32), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}
