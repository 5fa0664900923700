/**
 * The states of an order book after its last frames, by the venue's hash. On a busy market the venue's own book is
 * several frames old when it arrives, so it is compared with the state of the same hash; a checksum is enough for that.
 */
import type { BookSide, MicroLevels } from '../../core/order-book.ts'

/** A few seconds of the busiest market. */
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

/** The sum of the checksums of all levels, so that it can be updated level by level. */
export function checksumOf({ bids, asks }: MicroLevels): number {
  let sum = 0
  for (const [price, size] of bids) sum = (sum + levelChecksum('bids', price, size)) | 0
  for (const [price, size] of asks) sum = (sum + levelChecksum('asks', price, size)) | 0
  return sum
}

/** 0 for a level that does not exist. */
export function levelChecksum(side: BookSide, price: number, size: number): number {
  if (size === 0) return 0
  let mixed = Math.imul(price ^ (side === 'bids' ? 0x2c1b3c6d : 0x297a2d39), 0x9e3779b1)
  mixed = Math.imul(mixed ^ (mixed >>> 15) ^ (size | 0), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13) ^ Math.floor(size / 2 ** 32), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}
