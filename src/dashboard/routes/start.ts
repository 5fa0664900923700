import type { ViewAllowance } from '../../accounts/view-allowance.ts'
import type { Environment } from '../../core/environment.ts'
import { type DashboardReply, type DashboardRoute, json, openRoute, type RouteContext } from '../route.ts'
import type { StartView } from '../wire.ts'
import { currentSession, type SessionDeps } from './session.ts'
import { rowsShown, type View } from './view.ts'

const MAX_VIEWS = 4
const CREDITS_EXHAUSTED = 402

/**
 * What a page needs first, in one answer that it can request before its code has loaded: the session, and for
 * somebody who is signed in the views that are named in the query. A view that fails is left out: the page requests
 * it again where it can show why. Nothing is charged here: nobody has asked for anything yet.
 */
export function startRoutes(deps: {
  session: SessionDeps
  view: View
  allowanceOf: (accountId: string) => Promise<ViewAllowance>
}): DashboardRoute[] {
  return [
    openRoute('GET start', async ({ request, query }) => {
      const { view: session, accountId, headers } = await currentSession(deps.session, request)
      const environment = session.environments.includes('test') ? 'test' : session.environments[0]
      const asked = query.getAll('view').slice(0, MAX_VIEWS)
      const views =
        accountId === undefined || environment === undefined
          ? []
          : await Promise.all(
              asked.map((target) => viewed(deps.view, request, target, { accountId, environment })),
            )
      const answer: StartView = {
        session,
        environment: environment ?? 'test',
        views: views.filter((view) => typeof view === 'object'),
        allowance:
          accountId === undefined
            ? null
            : { ...(await deps.allowanceOf(accountId)), used_up: views.includes('allowance used') },
      }
      return json(answer, 200, headers)
    }),
  ]
}

async function viewed(
  view: View,
  request: RouteContext['request'],
  target: string,
  as: { accountId: string; environment: Environment },
): Promise<StartView['views'][number] | 'allowance used' | undefined> {
  const [path = '', search = ''] = target.split('?')
  const maxRows = rowsShown(path)
  if (maxRows === undefined) return undefined
  const reply = await view({ ...request, path, search }, { ...as, maxRows, freeOnly: true })
  if (reply?.status === CREDITS_EXHAUSTED) return 'allowance used'
  if (reply === undefined || reply.status !== 200) return undefined
  return { path: target, price: Number(headerOf(reply, 'X-Credits-Price') ?? 0), value: textOf(reply) }
}

function headerOf({ headers }: DashboardReply, name: string): string | undefined {
  const at = headers.findIndex((text, index) => index % 2 === 0 && text === name)
  return at === -1 ? undefined : headers[at + 1]
}

function textOf({ body }: DashboardReply): string {
  if (typeof body === 'string') return body
  return (Buffer.isBuffer(body) ? body : Buffer.concat(body)).toString('utf8')
}
