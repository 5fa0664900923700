/** The prediction markets and the oracle: who plays them in the sandbox, and what the real ones want to know. */
import type { Config } from '../config.ts'
import type { Source } from '../core/source.ts'
import type { VenueName } from '../venues/list.ts'
import type { VenueSetting } from './open-venue.ts'

export const PREDICTIONS: readonly { name: VenueName; source: Source }[] = [
  { name: 'polymarket', source: 'predmkt_a' },
  { name: 'kalshi', source: 'predmkt_b' },
  { name: 'chainlink', source: 'oracle' },
]

export const SANDBOX_PREDICTIONS_FILE = new URL('../sandbox/predictions/process.ts', import.meta.url)

export interface PredictionsReady {
  readonly ready: true
  readonly polymarket: Readonly<Record<'gammaUrl' | 'clobUrl' | 'dataUrl' | 'wsUrl' | 'rtdsUrl', string>>
  readonly kalshi: {
    readonly restUrl: string
    readonly wsUrl: string
    readonly keyId: string
    /** Absent where the simulator was given a key of somebody else. */
    readonly privateKey?: string
  }
  readonly ethereum: { readonly urls: readonly string[]; readonly proxies: Readonly<Record<string, string>> }
  readonly controlUrl: string
}

/** The venues add their own paths. */
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

/** Of the real venues only one wants credentials. */
export function liveSetting(name: VenueName, config: Config): VenueSetting {
  const own = config.venueHosts.filter(({ venue }) => venue === name)
  const hosts = Object.fromEntries(own.map(({ part, url }) => [part, url]))
  const setting = { name, ...(own.length === 0 ? {} : { hosts }) }
  if (name !== 'kalshi') return setting
  const { kalshiKeyId, kalshiPrivateKey } = config
  return {
    ...setting,
    kalshi: {
      ...(kalshiKeyId === null ? {} : { keyId: kalshiKeyId }),
      ...(kalshiPrivateKey === null ? {} : { privateKey: kalshiPrivateKey }),
    },
  }
}
