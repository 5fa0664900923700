/** The part of the contract ABI that the simulated contracts implement. */
export const SELECTORS = {
  latestRoundData: '0xfeaf968c',
  getRoundData: '0x9a6fc8f5',
  decimals: '0x313ce567',
  aggregator: '0x245a7bfc',
  phaseId: '0x58303b10',
  phaseAggregators: '0xc1597304',
  latestRound: '0x668a0f02',
  aggregate3: '0x82ad56cb',
  getCurrentBlockTimestamp: '0x0f28c97d',
} as const

export const MULTICALL3 = '0xca11bde05977b3631167028862be2a173976ca11'
export const ANSWER_UPDATED = '0x0559884fd3a460db3073b7fc896cc77986f16e378210ded43186175bf646fc5f'

/** One 32-byte word without 0x; negative numbers in two's complement. */
export const word = (value: bigint | number): string =>
  BigInt.asUintN(256, BigInt(value)).toString(16).padStart(64, '0')
export const addressWord = (address: string): string => address.slice(2).toLowerCase().padStart(64, '0')
export const quantity = (value: number): string => `0x${value.toString(16)}`

function textResult(text: string): string {
  const hex = Buffer.from(text).toString('hex')
  return `0x${word(32)}${word(text.length)}${hex.padEnd(Math.ceil(hex.length / 64) * 64, '0')}`
}

/** Error(string). */
export const revertData = (reason: string): string => `0x08c379a0${textResult(reason).slice(2)}`

interface Call {
  readonly to: string
  readonly allowFailure: boolean
  readonly data: string
}

/** The argument of aggregate3: (address target, bool allowFailure, bytes callData)[]. */
export function decodeAggregate3(data: string): Call[] {
  const body = data.slice(10)
  const at = (position: number): number => {
    const text = body.slice(position * 2, position * 2 + 64)
    if (text.length !== 64) throw new RangeError('short data')
    return Number(BigInt(`0x${text}`))
  }
  const start = at(0)
  const count = at(start)
  if (count > 1_000) throw new RangeError('too many calls')
  return Array.from({ length: count }, (_, i) => {
    const tuple = start + 32 + at(start + 32 + i * 32)
    const bytes = tuple + at(tuple + 64)
    const length = at(bytes)
    const hex = body.slice((bytes + 32) * 2, (bytes + 32 + length) * 2)
    if (hex.length !== length * 2) throw new RangeError('short data')
    return {
      to: `0x${body.slice(tuple * 2 + 24, tuple * 2 + 64)}`,
      allowFailure: at(tuple + 32) !== 0,
      data: `0x${hex}`,
    }
  })
}

/** (bool success, bytes returnData)[]. */
export function encodeResults(results: readonly { success: boolean; data: string }[]): string {
  const tuples = results.map(({ success, data }) => {
    const hex = data.slice(2)
    return `${word(success ? 1 : 0)}${word(64)}${word(hex.length / 2)}${hex.padEnd(Math.ceil(hex.length / 64) * 64, '0')}`
  })
  let offset = results.length * 32
  const heads = tuples.map((tuple) => {
    const head = word(offset)
    offset += tuple.length / 2
    return head
  })
  return `0x${word(32)}${word(results.length)}${heads.join('')}${tuples.join('')}`
}
