import { ENVIRONMENTS } from '../../../core/environment.ts'
import { CANDLE_INTERVALS, type CandleInterval } from '../../../core/interval.ts'
import { SOURCES, type Source } from '../../../core/source.ts'
import { type AssetSymbol, SYMBOLS } from '../../../core/symbol.ts'
import type { EnvironmentName } from '../../wire.ts'

export const TABS = ['candles', 'books', 'markets', 'events'] as const
export type Tab = (typeof TABS)[number]

/**
 * Everything that determines what the explorer shows. It is part of the address, so that a reload, the back button and
 * a shared link all open the same view: `explorer/books?source=predmkt_a&market=0x…&time=…`.
 */
export interface Place {
  tab: Tab
  environment?: EnvironmentName | undefined
  symbol?: AssetSymbol | undefined
  source?: Source | undefined
  interval?: CandleInterval | undefined
  /** Any identifier of a prediction market. */
  market?: string | undefined
  /** The leg of that market. */
  outcome?: string | undefined
  /** Duration of the listed markets. */
  length?: string | undefined
  /** The moment shown; now if omitted. */
  time?: number | undefined
}

export function readPlace(path: string): Place {
  const [place = '', search = ''] = path.split('?')
  const asked = new URLSearchParams(search)
  const oneOf = <T extends string>(name: string, known: readonly T[]) =>
    known.find((value) => value === asked.get(name))
  const time = Date.parse(asked.get('time') ?? '')
  return {
    tab: TABS.find((name) => name === place.split('/')[1]) ?? 'candles',
    environment: oneOf('environment', ENVIRONMENTS),
    symbol: oneOf('symbol', SYMBOLS),
    source: oneOf('source', SOURCES),
    interval: oneOf('interval', CANDLE_INTERVALS),
    market: asked.get('market') || undefined,
    outcome: asked.get('outcome') || undefined,
    length: asked.get('length') || undefined,
    time: Number.isFinite(time) ? time : undefined,
  }
}

const IN_ORDER = ['environment', 'symbol', 'source', 'market', 'outcome', 'interval', 'length'] as const

export function placePath(place: Place): string {
  const search = new URLSearchParams()
  for (const name of IN_ORDER) {
    const value = place[name]
    if (value !== undefined) search.set(name, value)
  }
  if (place.time !== undefined) search.set('time', new Date(place.time).toISOString())
  // A colon need not be escaped in a query, and a time is easier to read with it.
  const text = search.toString().replaceAll('%3A', ':')
  return `explorer/${place.tab}${text === '' ? '' : `?${text}`}`
}
