import type { AnyEndpoint } from '../../contract/endpoint.ts'
import type { Tier } from '../../core/plan.ts'

/** What every call costs and the lowest tier that may make it, for people. */
export interface Price {
  readonly tag: string
  readonly operation: string
  readonly summary: string
  readonly credits: string
  readonly tier: Tier
}

export function priceList<Services>(endpoints: readonly AnyEndpoint<Services>[]): Price[] {
  return endpoints
    .filter(({ access }) => access.auth === 'key')
    .map(({ method, path, doc, cost, access }) => ({
      tag: doc.tag,
      operation: `${method} ${path}`,
      summary: doc.summary,
      credits: cost.describe(),
      tier: access.tier,
    }))
}
