/**
 * Oracle rounds on a simulated chain: one round per 33 seconds, at a random moment within them. A phase ends after a
 * fixed number of rounds; the next one has its own aggregator and counts from 1 again.
 */
import { hash } from 'node:crypto'
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import { hash32 } from '../../exchanges/world/hash.ts'
import type { Underlying } from './underlying.ts'

export const CHAIN = {
  name: 'polygon',
  chainId: 137,
  blockMs: 2_000,
  firstBlock: 80_000_000,
  /** The time for one round, and the part of it in which the round may fall. */
  roundMs: 33_000,
  jitterMs: 24_000,
  proxies: {
    BTC: '0xc907E116054Ad103354f2D350FD2514433D57F6f',
    ETH: '0xF9680D99D6C9589e2a93a78A04A279e509205945',
    SOL: '0x10C8264C0935b3B9870013e057f330Ff3e9C56dC',
    XRP: '0x785ba89291f676b5386652eB12b30cF361020694',
  } satisfies Record<AssetSymbol, string>,
}

export interface Round {
  /** phase << 64 | aggregator round. */
  readonly id: bigint
  readonly phase: number
  readonly number: number
  /** Price in units of 10^-8. */
  readonly answer: bigint
  readonly startedAtS: number
  readonly updatedAtS: number
}

export type Rounds = ReturnType<typeof createRounds>

const ORIGIN_MS = Date.UTC(2026, 0, 1)
export const ORACLE_DECIMALS = 8
export const DEFAULT_PHASE_ROUNDS = 80_000
const FIRST_PHASE = 5

export function createRounds(options: { seed: number; world: Underlying; phaseRounds: number }) {
  const { seed, world, phaseRounds } = options

  function at(symbol: AssetSymbol, index: number): Round | undefined {
    if (index < 0) return undefined
    const chance = hash32(seed, 91 + symbol.charCodeAt(0), index)
    // An early round may share the second of its predecessor, as on the real feed.
    const jitter = chance % 211 === 0 ? 0 : chance % CHAIN.jitterMs
    const blockMs = CHAIN.blockMs
    const updatedMs = Math.floor((ORIGIN_MS + index * CHAIN.roundMs + jitter) / blockMs) * blockMs
    const phase = FIRST_PHASE + Math.floor(index / phaseRounds)
    const number = (index % phaseRounds) + 1
    return {
      id: (BigInt(phase) << 64n) | BigInt(number),
      phase,
      number,
      answer: BigInt(world.priceE8(symbol, updatedMs - 1_500)),
      startedAtS: Math.floor(updatedMs / 1_000) - (chance % 5),
      updatedAtS: Math.floor(updatedMs / 1_000),
    }
  }
  const indexNear = (timeMs: number) => Math.floor((timeMs - ORIGIN_MS) / CHAIN.roundMs)

  return {
    /** Undefined before the first round and for numbers that a phase does not have. */
    round(symbol: AssetSymbol, phase: number, number: number): Round | undefined {
      if (phase < FIRST_PHASE || number < 1 || number > phaseRounds) return undefined
      return at(symbol, (phase - FIRST_PHASE) * phaseRounds + number - 1)
    },
    /** The number of the last round of a phase. */
    lastOf: (_symbol: AssetSymbol, _phase: number) => phaseRounds,
    /** The last round updated at or before the time. */
    latest(symbol: AssetSymbol, timeMs: number): Round | undefined {
      const index = indexNear(timeMs)
      const near = at(symbol, index)
      return near !== undefined && near.updatedAtS * 1_000 <= timeMs ? near : at(symbol, index - 1)
    },
    /** Rounds updated in from ≤ time < to, in order. */
    between(symbol: AssetSymbol, fromMs: number, toMs: number): Round[] {
      const found: Round[] = []
      for (let index = Math.max(0, indexNear(fromMs) - 1); index <= indexNear(toMs); index++) {
        const round = at(symbol, index)
        const ms = (round?.updatedAtS ?? 0) * 1_000
        if (round !== undefined && ms >= fromMs && ms < toMs) found.push(round)
      }
      return found
    },
    aggregator(symbol: AssetSymbol, phase: number) {
      return `0x${hash('sha256', `${seed}|aggregator|${CHAIN.name}|${symbol}|${phase}`).slice(0, 40)}`
    },
    blockAt: (timeMs: number) => CHAIN.firstBlock + Math.floor((timeMs - ORIGIN_MS) / CHAIN.blockMs),
    blockTimeMs: (block: number) => ORIGIN_MS + (block - CHAIN.firstBlock) * CHAIN.blockMs,
  }
}
