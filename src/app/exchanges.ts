/** The exchanges: venue, the source it records, and who plays it in the sandbox. */
import type { Source } from '../core/source.ts'
import type { VenueName } from '../venues/list.ts'

export type SandboxVenue = 'spot' | 'futures' | 'perp'

export const EXCHANGES: readonly { name: VenueName; source: Source; sandbox: SandboxVenue }[] = [
  { name: 'binance-spot', source: 'cexa', sandbox: 'spot' },
  { name: 'binance-futures', source: 'cexa_futures', sandbox: 'futures' },
  { name: 'hyperliquid', source: 'perpdex', sandbox: 'perp' },
]

export const SANDBOX_FILE = new URL('../sandbox/exchanges/process.ts', import.meta.url)

export type SandboxReady = { readonly ready: true; readonly controlUrl: string } & Readonly<
  Record<SandboxVenue, { readonly restUrl: string; readonly wsUrl: string }>
>
