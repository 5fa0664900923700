import { CANDLE_INTERVALS, type CandleInterval } from './interval.ts'

/**
 * Where market data comes from. The order of this list breaks ties between rows of the same instant, so new sources are
 * appended.
 */
export const SOURCES = ['cexa', 'cexa_futures', 'perpdex', 'predmkt_a', 'predmkt_b', 'oracle'] as const
export type Source = (typeof SOURCES)[number]

/** Other names of a source. Rows echo the name that was requested. */
const SOURCE_ALIASES = { cexa_spot: 'cexa' } as const satisfies Record<string, Source>
type SourceAlias = keyof typeof SOURCE_ALIASES
export type SourceName = Source | SourceAlias

export interface SourceInfo {
  displayName: string
  /** The name in the sources catalog. */
  catalogName: SourceName
  candleIntervals: readonly CandleInterval[]
}

const PREDICTION_INTERVALS = ['5m', '15m', '1h', '4h', '1d'] as const

export const SOURCE_INFO: Record<Source, SourceInfo> = {
  cexa: { displayName: 'Spot exchange A', catalogName: 'cexa_spot', candleIntervals: CANDLE_INTERVALS },
  cexa_futures: {
    displayName: 'Futures exchange A',
    catalogName: 'cexa_futures',
    candleIntervals: CANDLE_INTERVALS,
  },
  perpdex: {
    displayName: 'Perpetual-futures decentralised exchange',
    catalogName: 'perpdex',
    candleIntervals: CANDLE_INTERVALS,
  },
  predmkt_a: {
    displayName: 'Prediction market A',
    catalogName: 'predmkt_a',
    candleIntervals: PREDICTION_INTERVALS,
  },
  predmkt_b: {
    displayName: 'Prediction market B',
    catalogName: 'predmkt_b',
    candleIntervals: PREDICTION_INTERVALS,
  },
  oracle: { displayName: 'On-chain price oracle', catalogName: 'oracle', candleIntervals: ['5m', '15m'] },
}

export function isSource(text: string): text is Source {
  return (SOURCES as readonly string[]).includes(text)
}

/** The source with this name or alias; undefined if there is none. */
export function resolveSource(name: string): Source | undefined {
  if (isSource(name)) return name
  return Object.hasOwn(SOURCE_ALIASES, name) ? SOURCE_ALIASES[name as SourceAlias] : undefined
}
