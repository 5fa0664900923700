/**
 * One side of a book as the venue writes it, worst level first, with the prices of either leg:
 *
 *   {"price":"0.01","size":"382"},{"price":"0.02","size":"14.5"}
 *
 * Every change of a book comes with a hash over the text of the whole book, so the text is kept as bytes in which a
 * changed level is replaced in place.
 */
import { Buffer } from 'node:buffer'
import { LEVELS } from '../world/life.ts'

const PRICES = Array.from({ length: LEVELS }, (_, i) => String(i / 1_000))

/** Thousandths as the shortest decimal: 500 → "0.5". */
export const priceText = (thousandths: number): string => PRICES[thousandths] as string

/** Hundredths as the shortest decimal: 1446829 → "14468.29", 38200 → "382". */
export function sizeText(hundredths: number): string {
  const whole = Math.floor(hundredths / 100)
  const rest = hundredths - whole * 100
  if (rest === 0) return `${whole}`
  if (rest % 10 === 0) return `${whole}.${rest / 10}`
  return rest < 10 ? `${whole}.0${rest}` : `${whole}.${rest}`
}

const FIRST_CAPACITY = 2_048

/** Levels are numbered by their rank, 1 to 999, worst first. */
export class SideText {
  /** Each level is followed by a comma. */
  #bytes = Buffer.allocUnsafeSlow(FIRST_CAPACITY)
  #end = 0
  /** The length of each level including its comma, by rank; 0 if there is no level. */
  readonly #lengths = new Uint8Array(LEVELS)
  /** The total length of every 32 ranks, so that the start of a level is the sum of a few numbers. */
  readonly #blockLengths = new Uint16Array(Math.ceil(LEVELS / 32))
  readonly #isRising: boolean

  /**
   * `isRising`: the price of a level is its rank, otherwise 1000 minus its rank. Sizes are hundredths; 0 means no
   * level.
   */
  constructor(isRising: boolean, sizeAt: (rank: number) => number) {
    this.#isRising = isRising
    for (let rank = 1; rank < 1_000; rank++) {
      const size = sizeAt(rank)
      if (size !== 0) this.#replace(rank, size, this.#end)
    }
  }

  set(rank: number, size: number): void {
    const block = rank >> 5
    let at = 0
    for (let before = 0; before < block; before++) at += this.#blockLengths[before] as number
    for (let before = block << 5; before < rank; before++) at += this.#lengths[before] as number
    this.#replace(rank, size, at)
  }

  #replace(rank: number, size: number, at: number): void {
    const price = priceText(this.#isRising ? rank : 1_000 - rank)
    const text = size === 0 ? '' : `{"price":"${price}","size":"${sizeText(size)}"},`
    const oldLength = this.#lengths[rank] as number
    const growth = text.length - oldLength
    const end = this.#end + growth
    if (end > this.#bytes.length) this.#grow()
    this.#bytes.copyWithin(at + text.length, at + oldLength, this.#end)
    this.#bytes.write(text, at, 'latin1')
    this.#lengths[rank] = text.length
    this.#blockLengths[rank >> 5] = (this.#blockLengths[rank >> 5] as number) + growth
    this.#end = end
  }

  /** Without the comma after the last level. */
  get length(): number {
    return Math.max(0, this.#end - 1)
  }

  /** Returns the position after the text. */
  copyTo(target: Buffer, at: number): number {
    this.#bytes.copy(target, at, 0, this.length)
    return at + this.length
  }

  toString(): string {
    return this.#bytes.toString('latin1', 0, this.length)
  }

  #grow(): void {
    const larger = Buffer.allocUnsafeSlow(this.#bytes.length * 2)
    this.#bytes.copy(larger, 0, 0, this.#end)
    this.#bytes = larger
  }
}
