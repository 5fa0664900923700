import { ApiError } from '../../../core/errors.ts'
import type { MarketRow } from '../../../core/rows/schemas.ts'
import { resolveSource, type Source, type SourceName } from '../../../core/source.ts'
import { type AssetSymbol, parseSymbol } from '../../../core/symbol.ts'
import type { EnvironmentStore } from '../../../store/environment.ts'
import type { FoundMarket } from '../../../store/markets.ts'
import type { Services } from '../services.ts'

/**
 * Finds a market by any of its identifiers, in the first source that has it. A market of another symbol counts as
 * unknown.
 */
export async function findMarket(
  store: EnvironmentStore,
  identifier: string,
  asked: {
    param: string
    sources: readonly (Source | undefined)[]
    symbol?: AssetSymbol | undefined
  },
): Promise<FoundMarket> {
  const { param, sources, symbol } = asked
  for (const source of sources) {
    const filter = { ...(source ? { source } : {}), ...(symbol ? { symbol } : {}) }
    const found = await store.markets.get(identifier, filter)
    if (found !== undefined) return found
  }
  const named = sources.filter((source) => source !== undefined).join(' or ')
  const where = [named && ` of ${named}`, symbol && ` for ${symbol}`].filter(Boolean).join('')
  throw new ApiError('market_not_found', `No market${where} is known as ${identifier.slice(0, 100)}.`, {
    param,
  })
}

/** The instruments of a market: its order-book tokens, or the market itself if it has none. */
function instrumentsOf(market: MarketRow): string[] {
  return market.source === 'predmkt_a' && market.tokens.length > 0
    ? market.tokens.map((token) => token.token_id)
    : [market.market_id]
}

/** The rows that a request is about: those of a symbol, of one market, or of one leg of a market. */
export interface Subject {
  readonly symbol: AssetSymbol
  /** Set if a market determines the source. */
  readonly source: Source | undefined
  readonly instruments: readonly string[] | undefined
}

interface SubjectContext {
  readonly input: {
    readonly symbol: string
    readonly source?: SourceName | undefined
    readonly market_id?: string | undefined
    readonly token_id?: string | undefined
  }
  readonly ignored: readonly string[]
  readonly services: Pick<Services, 'market'>
}

/** @param among the sources that have rows of single markets */
export function findSubject(
  { input, ignored, services }: SubjectContext,
  among: readonly Source[],
): Subject | Promise<Subject> {
  const symbol = parseSymbol(input.symbol)
  const source = input.source === undefined ? undefined : resolveSource(input.source)
  const marketId = ignored.includes('market_id') ? undefined : input.market_id
  const token = ignored.includes('token_id') ? undefined : input.token_id
  const named: [param: string, identifier: string][] = []
  if (symbol === undefined) named.push(['symbol', input.symbol])
  if (marketId !== undefined) named.push(['market_id', marketId])
  if (named.length === 0 && token !== undefined) named.push(['token_id', token])
  if (named.length === 0) return { symbol: symbol as AssetSymbol, source, instruments: undefined }
  const sources = source === undefined ? among : [source]
  const find = ([param, identifier]: [string, string]) =>
    findMarket(services.market.store, identifier, { param, sources, symbol })
  return Promise.all(named.map(find)).then((found) => subjectOf(sameMarket(found), token))
}

/** The one market that all names in the request refer to. */
function sameMarket(found: readonly FoundMarket[]): MarketRow {
  const [first, second] = found.map(({ market }) => market)
  if (first === undefined) throw new Error('a request names a market')
  const isOther =
    second !== undefined && (second.source !== first.source || second.market_id !== first.market_id)
  if (isOther)
    throw new ApiError('market_not_found', 'symbol and market_id are two different markets.', {
      param: 'market_id',
    })
  return first
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
