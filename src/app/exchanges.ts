/** The exchanges: venue, the source it records, and who plays it in the sandbox. */

import { crc32 } from 'node:zlib'
import type { Config } from '../config.ts'
import type { Source } from '../core/source.ts'
import { type ExchangeRole, VENUE_NAMES, VENUES, type VenueEntry, type VenueName } from '../venues/list.ts'
import type { VenueSetting } from './open-venue.ts'

const EXCHANGE_ROLES = ['spot', 'futures', 'perp'] as const satisfies ExchangeRole[]

export const EXCHANGES: readonly { name: VenueName; source: Source; sandbox: ExchangeRole | undefined }[] =
  VENUE_NAMES.flatMap((name) => {
    const { plan, sandbox }: VenueEntry = VENUES[name]
    if (plan.kind !== 'exchange') return []
    return [{ name, source: plan.source, sandbox: EXCHANGE_ROLES.find((role) => role === sandbox) }]
  })

/** The simulated venues, all in one thread. */
export const SANDBOX_FILE = new URL('../../sandbox/markets.ts', import.meta.url)

export type ExchangesReady = { readonly controlUrl: string } & Readonly<
  Record<ExchangeRole, { readonly restUrl: string; readonly wsUrl: string }>
>

/** What defines the simulated world; every process that simulates for the same data folder uses the same values. */
export function sandboxWorld(config: Config): { seed: number; tradesPerSecond: number } {
  return { seed: crc32(config.seed), tradesPerSecond: config.sandboxTrades }
}

export function sandboxExchanges(ready: ExchangesReady): VenueSetting[] {
  return EXCHANGES.flatMap(({ name, sandbox }) =>
    sandbox === undefined
      ? []
      : [{ name, hosts: { rest: ready[sandbox].restUrl, stream: ready[sandbox].wsUrl } }],
  )
}
