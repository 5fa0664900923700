/**
 * The books of one row as bytes, as sent to the writer and stored in a tail until they are folded into a block. Equal
 * books have equal bytes.
 *
 *   sides | price unit | size unit | per side: levels, then per level its distance to the price before and its size
 *
 * Two empty sides take no bytes, because a trade is a row with empty books.
 */
import { type MicroSide, NO_SIDE } from '../../core/micro-book.ts'
import { byteReader, byteWriter } from './bytes.ts'
import { commonUnit } from './sides.ts'

export const NO_BOOKS: readonly MicroSide[] = [NO_SIDE, NO_SIDE]
const NO_BYTES = new Uint8Array()

export function packSides(sides: readonly MicroSide[]): Uint8Array {
  if (sides.length === 2 && sides.every(({ prices }) => prices.length === 0)) return NO_BYTES
  const priceUnit = commonUnit(sides.map(({ prices }) => prices))
  const sizeUnit = commonUnit(sides.map(({ sizes }) => sizes))
  const bytes = byteWriter()
  bytes.number(sides.length)
  bytes.number(priceUnit)
  bytes.number(sizeUnit)
  for (const { prices, sizes } of sides) {
    bytes.number(prices.length)
    let last = 0
    for (let i = 0; i < prices.length; i++) {
      const price = (prices[i] ?? 0) / priceUnit
      bytes.number(Math.abs(price - last))
      bytes.number((sizes[i] ?? 0) / sizeUnit)
      last = price
    }
  }
  return bytes.bytes()
}

export function unpackSides(packed: Uint8Array): readonly MicroSide[] {
  if (packed.length === 0) return NO_BOOKS
  const bytes = byteReader(packed)
  const count = bytes.number()
  const priceUnit = bytes.number()
  const sizeUnit = bytes.number()
  return Array.from({ length: count }, (_, side) => {
    const levels = bytes.number()
    const prices = new Array<number>(levels)
    const sizes = new Array<number>(levels)
    // Bid prices fall from the best level on, ask prices rise.
    const direction = side % 2 === 0 ? -1 : 1
    let price = 0
    for (let i = 0; i < levels; i++) {
      const step = bytes.number() * priceUnit
      price = i === 0 ? step : price + direction * step
      prices[i] = price
      sizes[i] = bytes.number() * sizeUnit
    }
    return { prices, sizes }
  })
}
