/** Levels of order books as text, and as the millionths that venues send. */
import { microOf, microText } from '../../src/core/micro.ts'
import type { MicroLevel, TextLevel } from '../../src/core/order-book.ts'

export function microLevels(levels: readonly TextLevel[]): MicroLevel[] {
  return levels.map(([price, size]) => [microOf(price) ?? Number.NaN, microOf(size) ?? Number.NaN])
}

export function textLevels(levels: readonly MicroLevel[] | undefined): TextLevel[] | undefined {
  return levels?.map(([price, size]) => [microText(price), microText(size)])
}
