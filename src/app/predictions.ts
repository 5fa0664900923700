/** The prediction markets and the oracle, and who plays them in the sandbox. */
import type { Source } from '../core/source.ts'
import { VENUE_NAMES, VENUES, type VenueName } from '../venues/list.ts'
import type { ExchangesReady } from './exchanges.ts'
import type { VenueSetting } from './open-venue.ts'

export const PREDICTION_VENUES: readonly { name: VenueName; source: Source }[] = VENUE_NAMES.map((name) => ({
  name,
  plan: VENUES[name].plan,
}))
  .filter(({ plan }) => plan.kind !== 'exchange')
  .map(({ name, plan }) => ({ name, source: plan.source }))

export interface PredictionsReady {
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

/** What the thread of the simulated venues posts when it is up. */
export interface SandboxReady {
  readonly exchanges: ExchangesReady
  readonly predictions: PredictionsReady
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
