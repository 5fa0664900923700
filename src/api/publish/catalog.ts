import type { AnyEndpoint } from '../../contract/endpoint.ts'
import { CANDLE_INTERVALS } from '../../core/interval.ts'
import { allowsInterval, lowestTier, type Plan, reaches } from '../../core/plan.ts'
import { resolveSource, SOURCE_INFO, SOURCES, type Source } from '../../core/source.ts'
import { SYMBOL_NAMES, SYMBOLS } from '../../core/symbol.ts'
import type { SourcesBody, SymbolsBody } from '../endpoints/market/catalog-schema.ts'
import { publishedRoutes } from './router.ts'

/** The sources catalog: every source with its endpoints, derived from the declarations. */
export function sourcesCatalog<Services>(
  endpoints: readonly AnyEndpoint<Services>[],
  plans: readonly Plan[],
): SourcesBody {
  const data = SOURCES.map((source) => {
    const { displayName, catalogName, candleIntervals } = SOURCE_INFO[source]
    return {
      source: catalogName,
      display_name: displayName,
      label: displayName,
      symbols: [...SYMBOLS],
      intervals: [...candleIntervals],
      tier_requirements: candleIntervals.map((interval) => ({
        interval,
        min_tier: lowestTier(plans, (plan) => allowsInterval(plan, interval)),
      })),
      endpoints: endpointsOf(endpoints, source),
    }
  })
  return { data, meta: { symbol: null, source: null, interval: null, count: data.length, next_cursor: null } }
}

function endpointsOf<Services>(
  endpoints: readonly AnyEndpoint<Services>[],
  source: Source,
): SourcesBody['data'][number]['endpoints'] {
  const name = SOURCE_INFO[source].catalogName
  return publishedRoutes(endpoints).flatMap((route) => {
    const { endpoint, bound } = route
    if (endpoint.doc.tag !== 'market' || endpoint.method !== 'GET') return []
    const own = bound.source ?? endpoint.onlySource
    const param = endpoint.params.source
    const asked = param?.allowed?.find((allowed) => resolveSource(allowed) === source)
    if (own === undefined ? asked === undefined : own !== source) return []
    const query = own === undefined ? `?source=${param?.allowed?.includes(name) ? name : asked}` : ''
    return [
      {
        path: route.path + query,
        method: 'GET',
        description: route.summary,
        min_tier: endpoint.access.tier,
        credits: route.cost.given({ source }).describe(),
      },
    ]
  })
}

/** The list of symbols; the earliest data point comes from the store. */
export function symbolsCatalog(earliest: (symbol: string) => string | null): SymbolsBody {
  const symbols = SYMBOLS.map((symbol) => ({
    symbol,
    name: SYMBOL_NAMES[symbol],
    sources: [...SOURCES],
    intervals: CANDLE_INTERVALS.filter((interval) =>
      SOURCES.some((source) => SOURCE_INFO[source].candleIntervals.includes(interval)),
    ),
    earliest_data: earliest(symbol),
  }))
  return { symbols }
}

/** The features in which plans differ, by their declared names. */
export function featuresOf<Services>(
  endpoints: readonly AnyEndpoint<Services>[],
  plan: Plan,
): Record<string, boolean> {
  const features: Record<string, boolean> = {}
  for (const interval of CANDLE_INTERVALS) features[`candles_${interval}`] = allowsInterval(plan, interval)
  for (const { access, params } of endpoints) {
    if (access.feature !== undefined) features[access.feature] = reaches(plan, access.tier)
    for (const [name, param] of Object.entries(params)) {
      if (param.tier !== undefined) features[name] = reaches(plan, param.tier)
    }
  }
  return features
}
