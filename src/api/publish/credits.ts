import type { AnyEndpoint } from '../../contract/endpoint.ts'
import { publishedRoutes } from './router.ts'

/** The credit table: what every path costs, in numbers and in words. */
export interface CreditRow {
  operation: string
  base: number
  per: Readonly<Record<string, number>>
  variants: { words: string; perRow: number }[]
  words: string
}

export function creditTable<Services>(endpoints: readonly AnyEndpoint<Services>[]): CreditRow[] {
  return publishedRoutes(endpoints)
    .filter(({ endpoint }) => endpoint.access.auth === 'key')
    .map(({ method, path, cost }) => ({
      operation: `${method} ${path}`,
      base: cost.base,
      per: cost.prices,
      variants: cost.variants.map(({ words, perRow }) => ({ words, perRow })),
      words: cost.describe(),
    }))
}
