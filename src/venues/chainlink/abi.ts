/** Encodes calls of the contracts and decodes their answers, word by word. Everything above 2^53 is a bigint. */
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

/** `AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt)` */
export const ANSWER_UPDATED_TOPIC = '0x0559884fd3a460db3073b7fc896cc77986f16e378210ded43186175bf646fc5f'
export const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'

const PHASE_BITS = 64n
const WORD_DIGITS = 64

export const phaseOf = (roundId: bigint): bigint => roundId >> PHASE_BITS
export const roundOf = (roundId: bigint): bigint => BigInt.asUintN(64, roundId)
export const roundIdOf = (phase: bigint, round: bigint): bigint => (phase << PHASE_BITS) | round

export function word(value: bigint | number): string {
  return BigInt(value).toString(16).padStart(WORD_DIGITS, '0')
}

export const callGetRound = (roundId: bigint): string => SELECTORS.getRoundData + word(roundId)
export const callPhaseAggregator = (phase: bigint): string => SELECTORS.phaseAggregators + word(phase)

/** No answer has more words. Longer ones are refused unread, because the pattern would overflow the stack. */
const MAX_WORDS = 8
/** Limit for the answer to one call among several. */
const MAX_CALL_BYTES = 4_096

/** The words of an answer; undefined if it does not consist of whole words. */
export function wordsOf(hex: string): bigint[] | undefined {
  if (hex.length > 2 + MAX_WORDS * WORD_DIGITS) return undefined
  if (!/^0x([0-9a-fA-F]{64})*$/.test(hex)) return undefined
  const words: bigint[] = []
  for (let at = 2; at < hex.length; at += WORD_DIGITS)
    words.push(BigInt(`0x${hex.slice(at, at + WORD_DIGITS)}`))
  return words
}

export interface Round {
  readonly roundId: bigint
  readonly answer: bigint
  /** Seconds. */
  readonly updatedAt: number
}

/** Round ids of the contract have 80 bits; any price is far below the other bound. */
const MAX_ROUND_ID = (1n << 80n) - 1n
const MAX_ANSWER = 1n << 128n
const MAX_TIME_S = 253_402_300_799n

/** Undefined for an invalid answer: not five words, no time, or an impossible number or price. */
export function decodeRound(hex: string): Round | undefined {
  const words = wordsOf(hex)
  if (words?.length !== 5) return undefined
  const [roundId = 0n, rawAnswer = 0n, , updatedAt = 0n] = words
  const answer = BigInt.asIntN(256, rawAnswer)
  if (answer <= 0n || answer > MAX_ANSWER || roundId > MAX_ROUND_ID) return undefined
  if (updatedAt === 0n || updatedAt > MAX_TIME_S) return undefined
  return { roundId, answer, updatedAt: Number(updatedAt) }
}

/**
 * Reads the answer to a request for one round: null if there is no such round, undefined if it answers something else.
 */
export function readRound(hex: string, roundId: bigint): Round | null | undefined {
  const words = wordsOf(hex)
  if (words?.length !== 5) return undefined
  const [ownId = 0n, , , updatedAt = 0n] = words
  if (updatedAt === 0n) return null
  if (ownId !== roundId || updatedAt > MAX_TIME_S) return undefined
  return decodeRound(hex) ?? null
}

export const isSameRound = (a: Round, b: Round): boolean =>
  a.roundId === b.roundId && a.answer === b.answer && a.updatedAt === b.updatedAt

/** Reads an address from an answer of one word. */
export function decodeAddressWord(hex: string): string | undefined {
  const words = wordsOf(hex)
  const [value] = words ?? []
  return words?.length === 1 && value !== undefined && value > 0n
    ? `0x${value.toString(16).padStart(40, '0')}`
    : undefined
}

export interface AnswerLog {
  readonly answer: bigint
  /** The aggregator's own round number, without the phase. */
  readonly round: bigint
  readonly updatedAt: number
}

/** The price is a topic; the data contains only the time. Undefined for another event. */
export function decodeAnswerLog(log: { topics: readonly string[]; data: string }): AnswerLog | undefined {
  const [topic, current = '', roundId = ''] = log.topics
  const [answer] = wordsOf(current) ?? []
  const [round] = wordsOf(roundId) ?? []
  const [updatedAt] = wordsOf(log.data) ?? []
  if (
    topic !== ANSWER_UPDATED_TOPIC ||
    answer === undefined ||
    round === undefined ||
    updatedAt === undefined
  ) {
    return undefined
  }
  return { answer: BigInt.asIntN(256, answer), round, updatedAt: Number(updatedAt) }
}

export interface Call {
  readonly target: string
  readonly data: string
}

/** Asks for the time of the block from which the other calls of the same request are answered. */
export const CALL_BLOCK_TIME: Call = { target: MULTICALL3, data: SELECTORS.getCurrentBlockTimestamp }

/** Undefined where the chain does not have the contract that answers it. */
export function decodeBlockTimeMs(hex: string | null): number | undefined {
  const words = hex === null ? undefined : wordsOf(hex)
  const [seconds = 0n] = words ?? []
  return words?.length === 1 && seconds <= MAX_TIME_S ? Number(seconds) * 1_000 : undefined
}

/** Encodes `aggregate3` with calls that may each fail. */
export function encodeMulticall(calls: readonly Call[]): string {
  const tuples = calls.map(({ target, data }) => {
    const bytes = data.slice(2)
    const padded = bytes.padEnd(Math.ceil(bytes.length / WORD_DIGITS) * WORD_DIGITS, '0')
    return word(BigInt(target)) + word(1) + word(96) + word(bytes.length / 2) + padded
  })
  let offset = calls.length * 32
  const offsets = tuples.map((tuple) => {
    const at = offset
    offset += tuple.length / 2
    return word(at)
  })
  return SELECTORS.aggregate3 + word(32) + word(calls.length) + offsets.join('') + tuples.join('')
}

/** Returns each call's answer, or null where it failed; undefined for an answer of another shape. */
export function decodeMulticall(hex: string): (string | null)[] | undefined {
  const body = hex.slice(2)
  const number = (at: number) => {
    const digits = body.slice(at * 2, at * 2 + WORD_DIGITS)
    return digits.length === WORD_DIGITS && /^[0-9a-fA-F]+$/.test(digits)
      ? Number(BigInt(`0x${digits}`))
      : Number.NaN
  }
  const list = number(0)
  const count = number(list)
  if (!(count >= 0 && count <= 10_000)) return undefined
  const answers: (string | null)[] = []
  for (let index = 0; index < count; index++) {
    const tuple = list + 32 + number(list + 32 + index * 32)
    const bytes = tuple + number(tuple + 32)
    const length = number(bytes)
    const data = body.slice((bytes + 32) * 2, (bytes + 32 + length) * 2)
    if (!(length <= MAX_CALL_BYTES) || data.length !== length * 2) return undefined
    answers.push(number(tuple) === 1 ? `0x${data}` : null)
  }
  return answers
}
