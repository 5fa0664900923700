/** JSON with exact integers in both directions, because u64 values are numbers on the wire and exceed 2^53. */

interface RawJson {
  rawJSON(text: string): unknown
}

const { rawJSON } = JSON as unknown as RawJson

/** A number written with a fraction or exponent. The node does not accept it as an integer, even if it is whole. */
export class FloatLiteral {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

/** Integers beyond 2^53 become bigint; everything else is parsed as by JSON.parse. Throws on malformed text. */
export function parseExact(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    if (typeof value !== 'number') return value
    const source = context?.source ?? ''
    if (!/^-?\d+$/.test(source)) return new FloatLiteral(value)
    return Number.isSafeInteger(value) ? value : BigInt(source)
  })
}

/** A u64 in the form that makes JSON.stringify write it exactly. */
export function u64(value: bigint | number): unknown {
  return typeof value === 'number' || value <= 9007199254740991n ? Number(value) : rawJSON(String(value))
}

/** A float as the node writes it: with a decimal point even if it is whole. */
export function f64(value: number): unknown {
  return Number.isInteger(value) && Math.abs(value) < 1e15 ? rawJSON(`${value}.0`) : value
}
