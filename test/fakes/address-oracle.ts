/** An address check written for the tests only, from the protocol page, with the polymod in bigint. */
const CHARSET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const GENERATORS = [0x98f2bc8e61n, 0x79b76d99e2n, 0xf33e5fb3c4n, 0xae2eabe2a8n, 0x1e4f43e470n]
const PAYLOAD_BYTES = new Map([
  [0, 32],
  [1, 33],
  [8, 32],
])

function polymod(values: readonly number[]): bigint {
  let c = 1n
  for (const value of values) {
    const top = c >> 35n
    c = ((c & 0x07ffffffffn) << 5n) ^ BigInt(value)
    GENERATORS.forEach((generator, bit) => {
      if ((top >> BigInt(bit)) & 1n) c ^= generator
    })
  }
  return c ^ 1n
}

const prefixValues = (prefix: string) => [...prefix].map((letter) => letter.charCodeAt(0) & 0x1f)

export function isAddress(text: string): boolean {
  const [prefix, data, ...rest] = text.split(':')
  if (prefix === undefined || data === undefined || rest.length > 0) return false
  if (!['kaspa', 'kaspatest', 'kaspasim', 'kaspadev'].includes(prefix)) return false
  const values = [...data].map((letter) => CHARSET.indexOf(letter))
  if (values.includes(-1) || values.length < 9) return false
  if (polymod([...prefixValues(prefix), 0, ...values]) !== 0n) return false
  const bits = values
    .slice(0, -8)
    .map((value) => value.toString(2).padStart(5, '0'))
    .join('')
  const bytes = Math.floor(bits.length / 8)
  const version = Number.parseInt(bits.slice(0, 8), 2)
  return PAYLOAD_BYTES.get(version) === bytes - 1
}

/** Any payload under any version with a valid checksum, as an attacker would build the address that crashes a node. */
export function encodeAnyAddress(prefix: string, version: number, payload: Uint8Array): string {
  const bits = [version, ...payload].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const values = bits.match(/.{1,5}/g)?.map((five) => Number.parseInt(five.padEnd(5, '0'), 2)) ?? []
  const checksum = polymod([...prefixValues(prefix), 0, ...values, 0, 0, 0, 0, 0, 0, 0, 0])
  const tail = Array.from({ length: 8 }, (_, i) => Number((checksum >> BigInt(5 * (7 - i))) & 31n))
  return `${prefix}:${[...values, ...tail].map((value) => CHARSET[value]).join('')}`
}
