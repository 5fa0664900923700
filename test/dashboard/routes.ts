/** Every route of the dashboard's API, read off the factories that declare them. */
import { ENDPOINTS } from '../../src/api/endpoints/list.ts'
import type { DashboardRoute } from '../../src/dashboard/route.ts'
import { invitationRoutes } from '../../src/dashboard/routes/invitations.ts'
import { keyRoutes } from '../../src/dashboard/routes/keys.ts'
import { noticeRoutes } from '../../src/dashboard/routes/notices.ts'
import { operatorRoutes } from '../../src/dashboard/routes/operator.ts'
import { overviewRoutes } from '../../src/dashboard/routes/overview.ts'
import { sessionRoutes } from '../../src/dashboard/routes/session.ts'
import { startRoutes } from '../../src/dashboard/routes/start.ts'
import { statusRoutes } from '../../src/dashboard/routes/status.ts'
import { usageRoutes } from '../../src/dashboard/routes/usage.ts'
import { viewRoutes } from '../../src/dashboard/routes/view.ts'
import { webhookRoutes } from '../../src/dashboard/routes/webhooks.ts'

/** One for each file of the folder. */
export const ROUTE_FILES: Record<string, (deps: never) => DashboardRoute[]> = {
  invitations: invitationRoutes,
  keys: keyRoutes,
  notices: noticeRoutes,
  operator: operatorRoutes,
  overview: overviewRoutes,
  session: sessionRoutes,
  start: startRoutes,
  status: statusRoutes,
  usage: usageRoutes,
  view: viewRoutes,
  webhooks: webhookRoutes,
}

/** What can be called through `view/` with somebody's id in it: every path of the API's webhooks. */
const HOOKS = new Set(
  ENDPOINTS.filter(({ path }) => path.startsWith('/v1/webhooks')).map(({ path }) =>
    path.slice('/v1/'.length),
  ),
)

export interface Call {
  method: string
  path: string
  access: DashboardRoute['access']
}

/** With the names in braces filled in; routes with parameters are written out. */
export function everyCall(names: Record<string, string>): Call[] {
  const routes = Object.values(ROUTE_FILES).flatMap((make) => make({} as never))
  return routes
    .flatMap((route) =>
      route.path.endsWith('{path*}')
        ? [...HOOKS].map((hook) => ({ ...route, path: route.path.replace('{path*}', hook) }))
        : [route],
    )
    .map(({ method, path, access }) => ({
      method,
      access,
      path: path
        .replace('/dashboard/api/', '')
        .replace(/\{(\w+)\}/g, (_all, name: string) => nameOf(path, name, names)),
    }))
}

/** `{id}` is an account, a key, a notice or a webhook, depending on the path. */
function nameOf(path: string, name: string, names: Record<string, string>): string {
  if (name !== 'id') return names[name] ?? name
  const kind = /(account|key|notice)s\/\{id\}/.exec(path)?.[1] ?? 'webhook'
  return names[kind] ?? name
}
