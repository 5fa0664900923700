import type { AnyEndpoint } from '../../contract/endpoint.ts'
import { publishedRoutes } from './router.ts'

/** The credit table: what every path costs, in numbers. The `x-credits` member of an operation has it in words. */
export interface CreditRow {
  operation: string
  base: number
  per: Readonly<Record<string, number>>
  variants?: { words: string; perRow: number }[]
}

export function creditTable<Services>(endpoints: readonly AnyEndpoint<Services>[]): CreditRow[] {
  return publishedRoutes(endpoints)
    .filter(({ endpoint }) => endpoint.access.auth === 'key')
    .map(({ method, path, cost }) => ({
      operation: `${method} ${path}`,
      base: cost.base,
      per: cost.prices,
      ...(cost.variants.length === 0
        ? {}
        : { variants: cost.variants.map(({ words, perRow }) => ({ words, perRow })) }),
    }))
}
