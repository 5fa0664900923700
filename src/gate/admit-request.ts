import { MAX_REQUEST_BODY_BYTES } from '../contract/endpoint.ts'
import type { Environment } from '../core/environment.ts'
import { ApiError, faultsError } from '../core/errors.ts'
import type { Plan } from '../core/plan.ts'
import { limitRate } from './limit-rate.ts'
import { admitEndpoint, admitParams, admitRange } from './plan-gates.ts'
import { parseQuery } from './query.ts'
import { readRequestBody, withBodyFaults } from './read-body.ts'
import { gateParams, readChoices } from './read-choices.ts'
import { readInput } from './read-input.ts'
import type { Task } from './task.ts'

/** A request whose key has been checked. */
export type KeyedRequest<Services> = Pick<Task<Services>, 'request' | 'route' | 'credential' | 'nowMs'>

export interface AdmissionDeps<Services> {
  /** One entry per running environment. */
  readonly services: Partial<Record<Environment, Services>>
  readonly plans: readonly Plan[]
  readonly upgradeUrl: string
}

/** Checks the plan's access to the endpoint, then validates the input, then checks which values the plan allows. */
export function admitRequest<Services>(
  keyed: KeyedRequest<Services>,
  deps: AdmissionDeps<Services>,
): Task<Services> | Promise<Task<Services>> {
  const { request, route, credential, nowMs } = keyed
  const query = parseQuery(request.search)
  const { endpoint } = route
  const { access, demand } = endpoint
  const services = deps.services[credential.environment]
  if (services === undefined) throw notRunning(credential.environment)
  const admission = { plan: credential.plan, plans: deps.plans, nowMs, upgradeUrl: deps.upgradeUrl }
  admitEndpoint(access, admission)
  const read = readInput(route.params, {
    query,
    path: request.pathParams,
    bound: route.bound,
    gateParams: gateParams(endpoint),
  })
  const choices = readChoices(endpoint, query, request.headers.accept)
  const { 'content-type': contentType, 'content-encoding': contentEncoding } = request.headers
  const sent = { contentType, contentEncoding, body: request.body, plan: credential.plan }
  const faults = [...read.faults, ...choices.faults]
  if (faults.length > 0) {
    const { body } = endpoint
    if (body === undefined) throw faultsError(faults)
    return withBodyFaults(faults, () => readRequestBody(body, sent, services))
  }
  admitParams(route.params, read, access, admission)
  const range = access.history && admitRange(access.history, read.input, admission)
  const taskWith = (body: unknown): Task<Services> => ({
    request,
    route,
    credential,
    services,
    nowMs,
    input: read.input,
    given: read.given,
    range,
    ignored: read.ignored,
    format: choices.format,
    dryRun: choices.dryRun,
    body,
    demand: demand?.(body),
  })
  if (endpoint.body === undefined) return taskWith(undefined)
  const body = readRequestBody(endpoint.body, sent, services)
  return body instanceof Promise ? body.then(taskWith) : taskWith(body)
}

/**
 * For a body that counts for several requests, and is therefore read before it is counted. A body that is refused
 * before that counts as one request; a large one, which takes time to read, counts as one from the start.
 */
export function admitAndCount<Services>(
  keyed: KeyedRequest<Services>,
  deps: AdmissionDeps<Services>,
): Task<Services> | Promise<Task<Services>> {
  const { request, route, credential, nowMs } = keyed
  const counted = (request.body?.length ?? 0) > MAX_REQUEST_BODY_BYTES ? 1 : 0
  const count = (requests: number, before: number) =>
    limitRate(credential.rate, nowMs, route.endpoint.rateLimitError, requests, before)
  const countTask = (task: Task<Services>) => {
    count(task.demand?.requests ?? 1, counted)
    return task
  }
  count(counted, 0)
  let task: Task<Services> | Promise<Task<Services>>
  try {
    task = admitRequest(keyed, deps)
  } catch (error) {
    count(1, counted)
    throw error
  }
  return task instanceof Promise ? task.then(countTask) : countTask(task)
}

function notRunning(environment: Environment): ApiError {
  return new ApiError(
    'environment_unavailable',
    environment === 'live'
      ? 'The live environment is not running on this service. Use a svc_test_ key, or ask the operator to start it (TAPELINE_LIVE).'
      : 'The test environment is switched off on this service (TAPELINE_TEST).',
    { reason: environment },
  )
}
