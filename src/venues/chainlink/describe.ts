/** Chainlink price feeds: their contracts and heartbeats. Source: Chainlink's own directory, checked on chain. */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { VenueDescription } from '../venue.ts'

export type Chain = 'polygon' | 'ethereum' | 'arbitrum'

export interface ChainFeeds {
  /** The longest pause between two answers in normal operation. */
  readonly heartbeatMs: number
  /** Blocks of this age, and the rounds in them, are no longer replaced. */
  readonly settlesAfterMs: number
  /** Proxy contracts; a feed that was removed from the chain is left out. */
  readonly proxies: Readonly<Partial<Record<AssetSymbol, string>>>
  readonly providers: readonly string[]
}

/** Polygon, because on Ethereum nine of ten 5m candles contain no answer. */
export const DEFAULT_CHAIN: Chain = 'polygon'

export const CHAINS: Record<Chain, ChainFeeds> = {
  polygon: {
    heartbeatMs: 27_000,
    // 128 blocks of two seconds, and a margin.
    settlesAfterMs: 300_000,
    proxies: {
      BTC: '0xc907E116054Ad103354f2D350FD2514433D57F6f',
      ETH: '0xF9680D99D6C9589e2a93a78A04A279e509205945',
      SOL: '0x10C8264C0935b3B9870013e057f330Ff3e9C56dC',
      XRP: '0x785ba89291f676b5386652eB12b30cF361020694',
    },
    providers: [
      'https://polygon-bor-rpc.publicnode.com',
      'https://polygon.drpc.org',
      'https://1rpc.io/matic',
    ],
  },
  ethereum: {
    heartbeatMs: 3_600_000,
    // Two epochs.
    settlesAfterMs: 900_000,
    proxies: {
      BTC: '0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c',
      ETH: '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419',
      SOL: '0x4ffC43a60e009B551865A93d232E33Fce9f01507',
    },
    providers: ['https://ethereum-rpc.publicnode.com', 'https://eth.drpc.org', 'https://1rpc.io/eth'],
  },
  arbitrum: {
    heartbeatMs: 86_400_000,
    // The same as Ethereum, the chain beneath it.
    settlesAfterMs: 900_000,
    proxies: {
      BTC: '0x6ce185860a4963106506C203335A2910413708e9',
      ETH: '0x639Fe6ab55C921f74e7fac1ee960C0B6293ba612',
      SOL: '0x24ceA4b8ce57cdA5058b924B9B9987992450590c',
      XRP: '0xB4AD57B52aB9141de9926a3e0C8dc6264c2ef205',
    },
    providers: [
      'https://arbitrum-one-rpc.publicnode.com',
      'https://arbitrum.drpc.org',
      'https://1rpc.io/arb',
    ],
  },
}

export const CHAINLINK_TIMES = {
  pollEveryMs: 5_000,
  /** How often rounds that may still be replaced are read again. */
  readAgainEveryMs: 60_000,
  answerWithinMs: 5_000,
  /**
   * If the newest block is older, the nodes are behind or the chain stands still; missed blocks take half a minute at
   * most.
   */
  behindMs: 60_000,
  /** After this many heartbeats without an answer the feed is stale. */
  staleHeartbeats: 3,
} as const

/** Rounds per request, and the most missing rounds that are filled while listening. */
export const ROUNDS_PER_QUESTION = 100
export const ROUNDS_FILLED = 200

export function chainlinkDescriptionOf(chain: Chain): VenueDescription {
  const { heartbeatMs, settlesAfterMs, proxies, providers } = CHAINS[chain]
  const maxSilenceMs = CHAINLINK_TIMES.staleHeartbeats * heartbeatMs
  const everyMs = CHAINLINK_TIMES.pollEveryMs
  return {
    name: 'chainlink',
    source: 'oracle',
    symbols: proxies,
    live: { oracle_rounds: { via: 'poll', everyMs, maxSilenceMs } },
    history: { oracle_rounds: { maxAgeMs: null } },
    notProvided: {},
    // Public nodes publish no limit; this is what they have tolerated.
    budgets: { calls: { limit: 100, windowMs: 10_000 } },
    hosts: { rest: providers[0] ?? '', stream: '' },
    renewAfterMs: null,
    heartbeatMs,
    settlesAfterMs,
  }
}

export const chainlinkDescription = chainlinkDescriptionOf(DEFAULT_CHAIN)
