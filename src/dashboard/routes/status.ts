import { type DashboardRoute, json, userRoute } from '../route.ts'
import type { StatusView } from '../wire.ts'

/** What runs and what it has observed, per environment. */
export function statusRoutes(deps: {
  /** One for each running environment. */
  statuses: readonly (() => Promise<StatusView>)[]
}): DashboardRoute[] {
  return [
    userRoute('GET status', async () =>
      json({ environments: await Promise.all(deps.statuses.map((status) => status())) }),
    ),
  ]
}
