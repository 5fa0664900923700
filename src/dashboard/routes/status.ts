import type { Environment } from '../../core/environment.ts'
import { type DashboardRoute, json, userRoute } from '../route.ts'
import type { StatusView } from '../wire.ts'

/** What runs and what it has seen, per environment. */
export function statusRoutes(deps: {
  statuses: Partial<Record<Environment, () => Promise<StatusView>>>
}): DashboardRoute[] {
  return [
    userRoute('GET status', async () =>
      json({ environments: await Promise.all(Object.values(deps.statuses).map((status) => status())) }),
    ),
  ]
}
