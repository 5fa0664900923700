/** The pages that anybody may read: plans with prices, and the status of the service. */
import type { Notices } from '../accounts/notices.ts'
import type { PlanBook } from '../accounts/plans.ts'
import type { Uptime } from '../accounts/uptime.ts'
import { ENDPOINTS } from '../api/endpoints/list.ts'
import type { Services } from '../api/endpoints/services.ts'
import { featuresOf } from '../api/publish/catalog.ts'
import { priceList } from '../api/publish/price-list.ts'
import type { Config } from '../config/config.ts'
import type { Environment } from '../core/environment.ts'
import { isSource } from '../core/source.ts'
import type { Link } from '../dashboard/pages/html.ts'
import { pageStyle } from '../dashboard/pages/page-style.ts'
import { PLANS_PATH, plansPage } from '../dashboard/pages/plans-page.ts'
import type { PublicPage } from '../dashboard/pages/public-page.ts'
import { statusFacts } from '../dashboard/pages/status-facts.ts'
import { STATUS_PATH, statusPage } from '../dashboard/pages/status-page.ts'
import type { GapHistory } from '../ingest/gap-history.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'

export interface PublicPagesDeps {
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  readonly plans: PlanBook
  readonly services: Partial<Record<Environment, Services>>
  readonly gapHistories: Partial<Record<Environment, GapHistory>>
  readonly notices: Notices
  readonly uptime: Uptime
}

export function publicPages(deps: PublicPagesDeps): PublicPage[] {
  const facts = deps.config.statusPage ? factsOf(deps) : undefined
  const links: Link[] = [
    { path: PLANS_PATH, name: 'Plans' },
    ...(facts === undefined ? [] : [{ path: STATUS_PATH, name: 'Status' }]),
    { path: '/docs', name: 'API reference' },
    { path: '/', name: 'Sign in' },
  ]
  return [
    pageStyle,
    plansPage({
      plans: deps.plans.list(),
      featuresOf: (plan) => featuresOf(ENDPOINTS, plan),
      prices: priceList(ENDPOINTS),
      links,
    }),
    ...(facts === undefined ? [] : [statusPage({ facts, links, clock: deps.clock })]),
  ]
}

/** For every environment that is served, the live one first. */
function factsOf({ services, gapHistories, ...deps }: PublicPagesDeps) {
  const environments = (['live', 'test'] as const).flatMap((environment) => {
    const [its, historyOf] = [services[environment], gapHistories[environment]]
    if (its === undefined || historyOf === undefined) return []
    const live = async () => {
      const { status, ingestion, nodes } = await its.status()
      return {
        status,
        sources: ingestion.flatMap(({ source, status: state }) =>
          isSource(source) ? [{ source, status: state }] : [],
        ),
        nodes: { synced: nodes.filter(({ synced }) => synced).length, all: nodes.length },
      }
    }
    return [{ environment, live, historyOf }]
  })
  return environments.length === 0 ? undefined : statusFacts({ ...deps, environments })
}

/** Where a refused caller is sent. */
export function upgradeUrl({ upgradeUrl, publicUrl }: Config): string {
  return upgradeUrl ?? `${publicUrl?.replace(/\/+$/, '') ?? ''}${PLANS_PATH}`
}
