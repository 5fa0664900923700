import type { EndpointRoute } from '../contract/endpoint.ts'
import { faultsError } from '../core/errors.ts'
import type { Clock } from '../kit/clock.ts'
import { parseQuery } from './query.ts'
import { readInput } from './read-input.ts'
import { matchesEtag, render } from './render.ts'
import { contentReply } from './reply.ts'
import type { GateReply, GateRequest } from './request.ts'

const NO_PARAMS: string[] = []

/** Runs an endpoint that needs no key. */
export async function runOpen<Services>(
  request: GateRequest,
  { endpoint, bound, params }: EndpointRoute<Services>,
  deps: { readonly openServices: Services; readonly clock: Clock },
): Promise<GateReply> {
  const query = parseQuery(request.search)
  const read = readInput(params, { query, path: request.pathParams, bound, gateParams: NO_PARAMS })
  if (read.faults.length > 0) throw faultsError(read.faults)
  const answer = await endpoint.run({
    input: read.input as never,
    given: read.given,
    services: deps.openServices,
    nowMs: deps.clock.now(),
    requestId: request.id,
    once: undefined,
    isGone: undefined,
    path: request.path,
    ignored: [],
    range: undefined,
    rowLimit: 0,
    body: undefined,
    heavySlots: 0,
    dryRun: false,
    get caller(): never {
      throw new Error('an open endpoint has no caller')
    },
    counters: () => {
      throw new Error('an open endpoint has no counters')
    },
  })
  const rendered = await render(answer, 'json', endpoint.returns)
  return contentReply(answer, rendered, [], matchesEtag(request.headers['if-none-match'], rendered.etag))
}
