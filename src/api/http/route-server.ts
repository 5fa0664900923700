import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { filledPath } from '../../contract/filled-path.ts'
import type { Gate } from '../../gate/gate.ts'
import type { GateReply } from '../../gate/request.ts'
import type { Logger } from '../../kit/log.ts'
import type { PublishedRoute } from '../publish/router.ts'
import type { Cors } from './cors.ts'
import type { ResponseWriter } from './response-writer.ts'
import { sendCounted } from './send-counted.ts'
import { splitTarget } from './target.ts'
import { VARY } from './vary.ts'

/** A request to a route, from either HTTP path. */
export interface RoutedRequest {
  readonly method: string
  /** Path and query as they were sent. */
  readonly target: string
  readonly pathParams: Readonly<Record<string, string>>
  readonly headers: IncomingHttpHeaders
  readonly address: string
  readonly body: Buffer | undefined
  readonly socket: Socket
}

/** Passes a request through the gate and writes the answer. */
export function routeServer<Services>(
  route: PublishedRoute<Services>,
  context: {
    readonly gate: Gate<Services>
    readonly nextId: () => string
    readonly cors: Cors
    readonly log: Logger
    readonly observe: (status: number, seconds: number) => void
  },
): (request: RoutedRequest, response: ResponseWriter) => void {
  const { gate, nextId, cors, log, observe } = context
  const hasParams = route.path.includes('{')
  const vary = route.endpoint.access.auth === 'none' ? VARY.open : VARY.key
  return (request, response) => {
    const startedMs = performance.now()
    const id = nextId()
    const { method, target, pathParams, headers, address, body, socket } = request
    const asked = {
      id,
      method,
      // Not as it was sent: keys and cursors belong to the resource, whose path can be spelled in several ways.
      path: hasParams ? filledPath(route.path, pathParams) : route.path,
      search: splitTarget(target).search,
      pathParams,
      headers,
      address,
      body,
      isGone: () => socket.destroyed,
    }
    const finish = (answer: GateReply) => {
      answer.onSent?.()
      observe(answer.status, (performance.now() - startedMs) / 1000)
    }
    const send = (answer: GateReply): void | Promise<void> => {
      const sent = sendCounted(request, response, answer, { requestId: id, cors, vary, unread: gate.unread })
      if (sent === undefined) finish(answer)
      else return sent.finally(() => finish(answer))
    }
    const broken = (error: unknown) => {
      log.error({ err: error, request: id }, 'an answer could not be sent')
      response.destroy()
    }
    // Most answers are produced synchronously, and a promise would cost more than the gate itself.
    try {
      const answer = gate.handle(asked, route)
      if (answer instanceof Promise) answer.then(send).catch(broken)
      else send(answer)?.catch(broken)
    } catch (error) {
      broken(error)
    }
  }
}
