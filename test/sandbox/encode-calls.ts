/** A second, independent encoding of bundled calls, for tests only. */
const word = (value: number) => value.toString(16).padStart(64, '0')

export function encodeAggregate3ForTest(calls: [to: string, data: string][]): string {
  const tuples = calls.map(([to, data]) => {
    const hex = data.slice(2)
    return `${to.slice(2).toLowerCase().padStart(64, '0')}${word(1)}${word(96)}${word(hex.length / 2)}${hex.padEnd(Math.ceil(hex.length / 64) * 64, '0')}`
  })
  let offset = calls.length * 32
  const heads = tuples.map((tuple) => {
    const head = word(offset)
    offset += tuple.length / 2
    return head
  })
  return `0x82ad56cb${word(32)}${word(calls.length)}${heads.join('')}${tuples.join('')}`
}

/** A result as 32-byte numbers. */
export const wordsOf = (result: string): bigint[] =>
  (result.slice(2).match(/.{64}/g) ?? []).map((hex) => BigInt(`0x${hex}`))
