/** The venues that the sandbox simulates, all in one thread. */
import { crc32 } from 'node:zlib'
import type { Config } from '../config/config.ts'
import { type ExchangeRole, VENUE_NAMES, VENUES, type VenueEntry } from '../venues/list.ts'
import type { VenueSetting } from './open-venue.ts'

export const SANDBOX_FILE = new URL('../../sandbox/markets.ts', import.meta.url)

interface ExchangeAddresses {
  readonly restUrl: string
  readonly wsUrl: string
}

export interface PredictionsReady {
  readonly polymarket: Readonly<Record<'gammaUrl' | 'clobUrl' | 'dataUrl' | 'wsUrl' | 'rtdsUrl', string>>
  readonly kalshi: ExchangeAddresses & {
    readonly keyId: string
    /** Absent if the simulator was given a public key. */
    readonly privateKey?: string
  }
  readonly ethereum: { readonly urls: readonly string[]; readonly proxies: Readonly<Record<string, string>> }
  readonly controlUrl: string
}

/** What the thread of the simulated venues posts once it is up. */
export interface SandboxReady {
  readonly exchanges: { readonly controlUrl: string } & Readonly<Record<ExchangeRole, ExchangeAddresses>>
  readonly predictions: PredictionsReady
}

/**
 * The settings that define the simulated world; every process that simulates for the same data folder uses the same
 * values.
 */
export function sandboxWorld(config: Config): { seed: number; tradesPerSecond: number } {
  return { seed: crc32(config.seed), tradesPerSecond: config.sandboxTrades }
}

export function sandboxVenues({ exchanges, predictions }: SandboxReady): VenueSetting[] {
  const simulated = VENUE_NAMES.flatMap((name): VenueSetting[] => {
    const { sandbox }: VenueEntry = VENUES[name]
    if (sandbox !== 'spot' && sandbox !== 'futures' && sandbox !== 'perp') return []
    return [{ name, hosts: { rest: exchanges[sandbox].restUrl, stream: exchanges[sandbox].wsUrl } }]
  })
  return [...simulated, ...sandboxPredictions(predictions)]
}

/** The venues append their own paths. */
const hostOf = (url: string) => new URL(url).origin

export function sandboxPredictions(ready: PredictionsReady): VenueSetting[] {
  const { polymarket, kalshi, ethereum } = ready
  return [
    {
      name: 'polymarket',
      hosts: {
        rest: polymarket.gammaUrl,
        clob: polymarket.clobUrl,
        data: polymarket.dataUrl,
        stream: hostOf(polymarket.wsUrl),
        reference: polymarket.rtdsUrl,
      },
    },
    {
      name: 'kalshi',
      hosts: { rest: hostOf(kalshi.restUrl), stream: hostOf(kalshi.wsUrl) },
      kalshi: {
        keyId: kalshi.keyId,
        ...(kalshi.privateKey === undefined ? {} : { privateKey: kalshi.privateKey }),
      },
    },
    { name: 'chainlink', chainlink: { providers: ethereum.urls, proxies: ethereum.proxies } },
  ]
}
