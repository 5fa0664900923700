/**
 * Reads from a market's own record which price it settles on; in 2026 the venue moved from the stream's price to its
 * mean.
 */
import type { SettlementPrice } from '../../core/settlement.ts'

export type MeanConfig =
  | { readonly twapEnabled?: boolean | null; readonly twapLookbackSeconds?: number | null }
  | null
  | undefined

const USUAL_MEAN_SECONDS = 60

/** Null if the record names no price that we know. */
export function readSettlement(
  source: string | null | undefined,
  config?: MeanConfig,
): SettlementPrice | null {
  const host = source == null ? undefined : URL.parse(source)?.hostname
  if (host?.endsWith('binance.com')) return { of: 'binance', windowSeconds: null }
  if (host !== 'data.chain.link') return null
  const named = /-twap-(\d+)s/.exec(source ?? '')?.[1]
  if (named !== undefined) return { of: 'chainlink', windowSeconds: Number(named) }
  const configured = config?.twapEnabled === true ? (config.twapLookbackSeconds ?? USUAL_MEAN_SECONDS) : null
  return { of: 'chainlink', windowSeconds: configured }
}
