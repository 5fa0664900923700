import { ApiError } from '../../../core/errors.ts'
import type { MarketRow } from '../../../core/rows/market.ts'
import type { Source } from '../../../core/source.ts'
import { type AssetSymbol, parseSymbol } from '../../../core/symbol.ts'
import type { EnvironmentStore } from '../../../store/environment.ts'
import type { FoundMarket } from '../../../store/markets.ts'

interface Asked {
  param: string
  source?: Source | undefined
  symbol?: AssetSymbol | undefined
}

/** Finds a market by any of its identifiers. A market of another symbol or source counts as unknown. */
export async function findMarket(
  store: EnvironmentStore,
  identifier: string,
  options: Asked,
): Promise<MarketRow> {
  return (await findMarketText(store, identifier, options)).market
}

/** The same, with the text as it is stored. */
export function findMarketText(
  store: EnvironmentStore,
  identifier: string,
  options: Asked,
): Promise<FoundMarket> {
  return findMarketAmong(store, identifier, { ...options, sources: [options.source] })
}

/** The same in the first of several sources that has it. */
async function findMarketAmong(
  store: EnvironmentStore,
  identifier: string,
  options: { param: string; sources: readonly (Source | undefined)[]; symbol?: AssetSymbol | undefined },
): Promise<FoundMarket> {
  const { sources, symbol } = options
  for (const source of sources) {
    const filter = { ...(source ? { source } : {}), ...(symbol ? { symbol } : {}) }
    const found = await store.markets.get(identifier, filter)
    if (found !== undefined) return found
  }
  const named = sources.filter((source) => source !== undefined).join(' or ')
  const where = [named && ` of ${named}`, symbol && ` for ${symbol}`].filter(Boolean).join('')
  throw new ApiError('market_not_found', `No market${where} is known as ${identifier.slice(0, 100)}.`, {
    param: options.param,
  })
}

/** The instruments of a market: its order-book tokens, or the market itself where it has none. */
function instrumentsOf(market: MarketRow): string[] {
  return market.source === 'predmkt_a' && market.tokens.length > 0
    ? market.tokens.map((token) => token.token_id)
    : [market.market_id]
}

/** Which rows a request is about: a symbol, or one market, or one leg of it. */
export interface Subject {
  readonly symbol: AssetSymbol
  /** Where a market determines it. */
  readonly source: Source | undefined
  readonly instruments: readonly string[] | undefined
}

export function findSubject(
  store: EnvironmentStore,
  asked: {
    symbol: string
    source: Source | undefined
    /** The sources that have rows of single markets. */
    among: readonly Source[]
    marketId?: string | undefined
    tokenId?: string | undefined
  },
): Subject | Promise<Subject> {
  const symbol = parseSymbol(asked.symbol)
  const named = symbol === undefined ? { identifier: asked.symbol, param: 'symbol' } : undefined
  const market = asked.marketId !== undefined ? { identifier: asked.marketId, param: 'market_id' } : named
  const token = asked.tokenId
  if (market === undefined && token === undefined) {
    return { symbol: symbol as AssetSymbol, source: asked.source, instruments: undefined }
  }
  return findMarketAmong(store, market?.identifier ?? token ?? '', {
    param: market?.param ?? 'token_id',
    sources: asked.source === undefined ? asked.among : [asked.source],
    symbol,
  }).then(({ market: found }) => subjectOf(found, token))
}

function subjectOf(found: MarketRow, token: string | undefined): Subject {
  if (token !== undefined && !found.tokens.some((leg) => leg.token_id === token)) {
    throw new ApiError('market_not_found', 'The market has no such token.', { param: 'token_id' })
  }
  return {
    symbol: found.symbol as AssetSymbol,
    source: found.source as Source,
    instruments: token === undefined ? instrumentsOf(found) : [token],
  }
}
