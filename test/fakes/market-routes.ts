/** Addresses of the market routes of the contract's table. */
import type { RouteRule } from '../contract/market-table.ts'
import { CONDITION, TICKER } from './market-world.ts'

/** A path of the route that exists, with its query. */
export function urlOf(route: RouteRule, changes: Record<string, string | null> = {}): string {
  const identifier = CONDITION
  const symbol = route.bound.source === 'predmkt_b' ? TICKER : 'BTC'
  const path = route.path.replace('{identifier}', identifier).replace('{symbol}', symbol)
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...route.query, ...changes })) {
    if (value !== null) query.set(name, value)
  }
  return query.size === 0 ? path : `${path}?${query}`
}
