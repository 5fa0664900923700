import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { BILLING_PATH, DASHBOARD_API, type Dashboard } from '../../dashboard/dashboard.ts'
import { SITE_PAGES } from '../../dashboard/site.ts'
import type { UnreadAnswers } from '../../gate/unread-answers.ts'
import { requestAddress } from './caller-address.ts'
import { createCors } from './cors.ts'
import { sendCounted } from './send-counted.ts'
import { splitTarget } from './target.ts'
import { VARY } from './vary.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS']

/** The routes of the dashboard. No other origin may read its answers, whatever the API allows. */
export function addDashboard(
  app: FastifyInstance,
  dashboard: Dashboard,
  { nextId, unread }: { nextId: () => string; unread: UnreadAnswers },
): void {
  const cors = createCors([])
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const id = nextId()
    const answer = await dashboard.handle(requestOf(request, id))
    if (answer === undefined) return reply.callNotFound()
    reply.hijack()
    // Only the dashboard's API depends on the session; the page and its assets are the same for everyone.
    const vary = request.url.startsWith(DASHBOARD_API) ? VARY.session : VARY.open
    try {
      await sendCounted(request, reply.raw, answer, { requestId: id, cors, vary, unread })
    } finally {
      answer.onSent?.()
    }
  }
  for (const url of [...SITE_PAGES, '/assets/*', '/favicon.svg']) {
    app.route({ method: ['GET', 'HEAD'], url, handler })
  }
  app.route({ method: METHODS, url: `${DASHBOARD_API}*`, handler })
  app.route({ method: 'POST', url: BILLING_PATH, handler })
}

function requestOf(request: FastifyRequest, id: string) {
  const { path, search } = splitTarget(request.raw.url)
  return {
    id,
    method: request.method,
    path,
    search,
    headers: request.headers,
    address: requestAddress(request),
    body: request.body as Buffer | undefined,
    isGone: () => request.raw.socket.destroyed,
  }
}
