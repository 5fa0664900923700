import type { ViewAllowance } from '../../accounts/view-allowance.ts'
import type { Environment } from '../../core/environment.ts'
import { Slice } from '../../kit/time-slices.ts'
import { type DashboardReply, type DashboardRoute, json, openRoute, type RouteContext } from '../route.ts'
import type { StartView } from '../wire.ts'
import { currentSession, type SessionDeps } from './session.ts'
import { rowsShown, type View } from './view.ts'

const MAX_VIEWS = 4
const CREDITS_EXHAUSTED = 402
/** Characters of a view's text that are written at a time. */
const PIECE_CHARS = 65_536

/**
 * What a page needs first, in one answer that it can request before its code has loaded: the session and, for a
 * signed-in user, the views named in the query. A view that fails is left out; the page requests it again when it can
 * show the reason. Nothing is charged here, because nobody has asked for anything yet.
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
      const answer: Omit<StartView, 'views'> = {
        session,
        environment: environment ?? 'test',
        allowance:
          accountId === undefined
            ? null
            : { ...(await deps.allowanceOf(accountId)), used_up: views.includes('allowance used') },
      }
      const { body, ...reply } = json(answer, 200, headers)
      return { ...reply, body: withViews(String(body), views) }
    }),
  ]
}

/** Adds the views to the JSON of an object, without joining them, because they have megabytes. */
function withViews(object: string, views: readonly (readonly Buffer[] | string | undefined)[]): Buffer[] {
  const found = views.filter((view) => typeof view === 'object')
  return [
    Buffer.from(`${object.slice(0, -1)},"views":[`),
    ...found.flatMap((view, index) => (index === 0 ? view : [Buffer.from(','), ...view])),
    Buffer.from(']}'),
  ]
}

/** One of `StartView.views`, as JSON. It is priced as a GET, even if the call itself is a HEAD. */
async function viewed(
  view: View,
  request: RouteContext['request'],
  target: string,
  as: { accountId: string; environment: Environment },
): Promise<Buffer[] | 'allowance used' | undefined> {
  const [path = '', search = ''] = target.split('?')
  const maxRows = rowsShown(path)
  if (maxRows === undefined) return undefined
  const reply = await view({ ...request, method: 'GET', path, search }, { ...as, maxRows, freeOnly: true })
  // The body is copied below.
  reply?.onSent?.()
  if (reply?.status === CREDITS_EXHAUSTED) return 'allowance used'
  if (reply === undefined || reply.status !== 200) return undefined
  const price = Number(headerOf(reply, 'X-Credits-Price') ?? 0)
  const shown: Omit<StartView['views'][number], 'value'> = { path: target, price }
  const head = JSON.stringify(shown).slice(0, -1)
  return [Buffer.from(`${head},"value":"`), ...(await quoted(reply)), Buffer.from('"}')]
}

/** The text as JSON writes it between quotes. Books have megabytes, so it is written in time slices. */
async function quoted(reply: DashboardReply): Promise<Buffer[]> {
  const slice = new Slice()
  await slice.next()
  const text = textOf(reply)
  const pieces: Buffer[] = []
  for (let at = 0; at < text.length; at += PIECE_CHARS) {
    if (slice.isOver) await slice.next()
    // A surrogate pair that is cut here is escaped on both sides, which JSON reads as the pair.
    pieces.push(Buffer.from(JSON.stringify(text.slice(at, at + PIECE_CHARS)).slice(1, -1)))
  }
  return pieces
}

function headerOf({ headers }: DashboardReply, name: string): string | undefined {
  const at = headers.findIndex((text, index) => index % 2 === 0 && text === name)
  return at === -1 ? undefined : headers[at + 1]
}

function textOf({ body }: DashboardReply): string {
  if (typeof body === 'string') return body
  return (Buffer.isBuffer(body) ? body : Buffer.concat(body)).toString('utf8')
}
