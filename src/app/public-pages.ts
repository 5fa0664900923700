/** The pages that anybody may read: plans and prices. */
import { ENDPOINTS } from '../api/endpoints/list.ts'
import { featuresOf } from '../api/publish/catalog.ts'
import { priceList } from '../api/publish/price-list.ts'
import type { Config } from '../config/config.ts'
import type { Plan } from '../core/plan.ts'
import type { Link } from '../dashboard/pages/html.ts'
import { pageStyle } from '../dashboard/pages/page-style.ts'
import { PLANS_PATH, plansPage } from '../dashboard/pages/plans-page.ts'
import type { PublicPage } from '../dashboard/pages/public-page.ts'

export function publicPages({ plans }: { plans: readonly Plan[] }): PublicPage[] {
  const links: Link[] = [
    { path: PLANS_PATH, name: 'Plans' },
    { path: '/docs', name: 'API reference' },
    { path: '/', name: 'Sign in' },
  ]
  return [
    pageStyle,
    plansPage({
      plans,
      featuresOf: (plan) => featuresOf(ENDPOINTS, plan),
      prices: priceList(ENDPOINTS),
      links,
    }),
  ]
}

/** Where a refused caller is sent to. */
export function upgradeUrl({ upgradeUrl, publicUrl }: Config): string {
  return upgradeUrl ?? `${publicUrl?.replace(/\/+$/, '') ?? ''}${PLANS_PATH}`
}
