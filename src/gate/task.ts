import { hash } from 'node:crypto'
import type { Budget } from '../accounts/budget.ts'
import { keyedRequest } from '../accounts/idempotency.ts'
import type { Credential } from '../accounts/key-ring.ts'
import type {
  AdmittedRange,
  Caller,
  Counters,
  Demand,
  EndpointAnswer,
  EndpointContext,
  EndpointRoute,
} from '../contract/endpoint.ts'
import type { Format } from '../contract/envelopes.ts'
import type { GateRequest } from './request.ts'

/** An admitted request, ready to run. */
export interface Task<Services> {
  readonly request: GateRequest
  readonly route: EndpointRoute<Services>
  readonly credential: Credential
  readonly services: Services
  readonly nowMs: number
  readonly input: Readonly<Record<string, unknown>>
  readonly given: ReadonlySet<string>
  readonly range: AdmittedRange | undefined
  readonly ignored: readonly string[]
  readonly body: unknown
  /** Present only if a body can count for several requests. */
  readonly demand: Demand | undefined
  readonly format: Format
  readonly dryRun: boolean
  /** For a view: fewer rows than the plan allows. */
  readonly maxRows?: number
  /** For a view: only what the allowance covers. */
  readonly freeOnly?: boolean
  /** For a request whose price was reserved: ends the reservation. */
  readonly onCharged?: () => void
}

/** The part of a request that its price and its reply depend on. */
export type ServedRequest<Services> = Pick<
  Task<Services>,
  'request' | 'route' | 'credential' | 'nowMs' | 'input' | 'onCharged'
>

/** Runs the endpoint with the given row limit. */
export function runTask<Services>(
  task: Task<Services>,
  options: { rowLimit: number; dryRun: boolean; heavySlots: number },
): EndpointAnswer | Promise<EndpointAnswer> {
  const { request, credential, nowMs } = task
  const context: EndpointContext<never, Services> = {
    input: task.input as never,
    given: task.given,
    services: task.services,
    caller: callerOf(credential),
    counters: () => countersOf(credential, nowMs),
    nowMs,
    range: task.range,
    ignored: task.ignored,
    rowLimit: options.rowLimit,
    body: task.body,
    heavySlots: options.heavySlots,
    dryRun: options.dryRun,
    requestId: request.id,
    once: onceOf(task),
    isGone: request.headers['idempotency-key'] === undefined ? request.isGone : undefined,
    path: request.path,
  }
  return task.route.endpoint.run(context)
}

/** Includes the body, because an expired idempotency key may be reused for something else. */
function onceOf<Services>({ request, credential }: Task<Services>): string | undefined {
  const key = request.headers['idempotency-key']
  if (typeof key !== 'string') return undefined
  const { accountId, environment } = credential
  const route = `${request.method} ${request.path}`
  return keyedRequest({ accountId, environment, route, key }) + hash('sha256', request.body ?? '')
}

/** What is left in the smallest budget. */
export function remainingOf(credential: Credential): number {
  let least = Number.POSITIVE_INFINITY
  for (const budget of credential.budgets) least = Math.min(least, budget.remaining)
  return least
}

function callerOf(credential: Credential): Caller {
  const { key } = credential
  return {
    accountId: credential.accountId,
    keyId: credential.keyId,
    keyName: key.name,
    environment: credential.environment,
    expiresAtMs: key.expiresAtMs,
    plan: credential.plan,
  }
}

function countersOf(credential: Credential, nowMs: number): Counters {
  const [account, key] = credential.budgets
  return {
    credits: countOf(key ?? account),
    accountCredits: key === undefined ? undefined : countOf(account),
    rate: credential.rate.counts(nowMs),
  }
}

function countOf(budget: Budget | undefined): Counters['credits'] {
  const { limit = 0, used = 0, remaining = 0 } = budget ?? {}
  return { used, limit, remaining, resetsAtMs: budget?.period.endMs ?? 0 }
}
