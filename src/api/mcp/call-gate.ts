import type { EndpointRoute } from '../../contract/endpoint.ts'
import { filledPath } from '../../contract/filled-path.ts'
import type { Gate } from '../../gate/gate.ts'
import type { GateReply } from '../../gate/request.ts'
import type { EndpointCall } from './endpoint-call.ts'

/** The caller as the service sees it: every call is checked, counted and charged like a request with this key. */
export interface McpCaller {
  readonly requestId: string
  readonly key: string
  readonly address: string
  /** Whether nobody would read the answer, because the caller has disconnected or the time is over. */
  readonly isGone: () => boolean
}

export function gateCall<Services>(
  gate: Pick<Gate<Services>, 'handle'>,
  routes: readonly EndpointRoute<Services>[],
  caller: McpCaller,
): EndpointCall {
  let calls = 0
  return async (request) => {
    calls += 1
    const { endpoint, pathParams, query, body } = request
    const route = routes.find(({ method, path }) => method === endpoint.method && path === endpoint.path)
    if (route === undefined) throw new Error(`${endpoint.method} ${endpoint.path} is not served here`)
    const reply = await gate.handle(
      {
        // A charge is identified by the id of its request, so each call gets its own.
        id: `${caller.requestId}.${calls}`,
        method: endpoint.method,
        path: filledPath(endpoint.path, pathParams),
        search: query,
        pathParams,
        headers: { 'x-api-key': caller.key, accept: 'application/json', 'content-type': 'application/json' },
        address: caller.address,
        body: body === undefined ? undefined : Buffer.from(body),
        isGone: caller.isGone,
      },
      route,
    )
    try {
      return { status: reply.status, header: headerFinder(reply), text: textOf(reply.body) }
    } finally {
      reply.lent?.release()
      reply.onSent?.()
    }
  }
}

function headerFinder({ headers }: GateReply): (name: string) => string | undefined {
  return (name) => {
    const at = headers.findIndex((text, i) => i % 2 === 0 && text.toLowerCase() === name.toLowerCase())
    return at === -1 ? undefined : headers[at + 1]
  }
}

function textOf(body: GateReply['body']): string {
  if (typeof body === 'string') return body
  return (Buffer.isBuffer(body) ? body : Buffer.concat(body)).toString()
}
