import { CURSORS } from './argument-schemas.ts'
import type { EndpointReply, ToolEndpoint } from './endpoint-call.ts'
import { parseBody } from './parse-body.ts'
import type { Spending } from './spending.ts'
import { type ToolArguments, type ToolContext, ToolFailure } from './tool.ts'

export type JsonObject = Record<string, unknown>

/** The answer of an endpoint: its rows if it is a list, the other members of the body, and how to continue. */
export interface EndpointPage {
  readonly body: JsonObject
  readonly rows: readonly JsonObject[] | undefined
  /** The body without its rows: meta, coverage and the rest of the envelope. */
  readonly facts: JsonObject
  readonly cursorParam: string | null
  readonly nextCursor: string | null
}

const MAX_RATE_WAIT_MS = 2_000

/** One request through the gate whose price cannot exceed what is left to spend. */
export async function readEndpoint(
  endpoint: ToolEndpoint,
  args: ToolArguments,
  context: ToolContext & { readonly spending: Spending; readonly maxRows: number },
): Promise<EndpointPage> {
  const { spending } = context
  const pathParams: Record<string, string> = {}
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(args)) {
    if (endpoint.path.includes(`{${name}}`)) pathParams[name] = pathValue(name, String(value))
    else query.set(name, String(value))
  }
  const affordable = isDryRun(args) ? Number.POSITIVE_INFINITY : spending.affordableRows(endpoint, args)
  if (endpoint.params.limit !== undefined)
    query.set('limit', String(rowsToAsk(args.limit, Math.min(context.maxRows, affordable))))
  const request = { endpoint, pathParams, query: query.toString() }
  const reply = await callPatiently(request, context)
  spending.note(endpoint, reply.header)
  const body = parseBody(reply.text)
  if (reply.status !== 200) throw toolFailureOf(reply, body, endpoint)
  return pageOf(endpoint, body, reply)
}

/** A path is resolved before it is sent, so these two values would address another path. */
function pathValue(name: string, value: string): string {
  if (value !== '.' && value !== '..') return value
  throw new ToolFailure(`${name} cannot be "${value}".`, `Give ${name}.`, { param: name })
}

export function isDryRun(args: ToolArguments): boolean {
  return String(args.dry_run) === 'true'
}

/** A value that is not a number is left to the gate, whose error lists what is allowed. */
function rowsToAsk(asked: unknown, max: number): number | string {
  const rows = Number(asked ?? max)
  return Number.isFinite(rows) ? Math.min(rows, max) : String(asked)
}

/** Retries once after a short rate limit, because a model cannot wait for a second but the server can. */
async function callPatiently(
  request: Parameters<ToolContext['call']>[0],
  { call, wait, isOver }: ToolContext,
): Promise<EndpointReply> {
  const reply = await call(request)
  if (reply.status !== 429) return reply
  const waitMs = Number(reply.header('retry-after') ?? Number.NaN) * 1000
  if (!(waitMs <= MAX_RATE_WAIT_MS)) return reply
  await wait(waitMs)
  return isOver() ? reply : call(request)
}

function pageOf(endpoint: ToolEndpoint, body: JsonObject, reply: EndpointReply): EndpointPage {
  const { returns } = endpoint
  const nextCursor = reply.header('x-next-cursor') ?? null
  if (returns.kind !== 'list' || body.dry_run === true)
    return { body, rows: undefined, facts: {}, cursorParam: null, nextCursor: null }
  const name = Object.keys(body).find((member) => Array.isArray(body[member])) ?? 'data'
  const { [name]: rows, ...facts } = body
  const cursorParam = returns.envelope === undefined ? 'after' : returns.envelope.cursor
  return { body, rows: (rows ?? []) as JsonObject[], facts, cursorParam, nextCursor }
}

const CHANGES: Readonly<Record<string, string>> = {
  unauthorized: 'The API key is not valid any more: the user has to configure another one.',
  credits_exhausted: 'Ask for fewer rows, or wait until the credits are renewed (explain_cost says when).',
  plan_required: 'Use a start that the plan reaches (earliest_start, or max_history_days of explain_cost).',
  tier_restricted: 'The plan or key does not allow this: use a coarser interval or other data.',
  rate_limited: 'Wait retry_after seconds, then make the same call again.',
  rate_limit_exceeded: 'Wait retry_after seconds, then make the same call again.',
  market_not_found: 'Find the identifier with find_markets.',
  transaction_not_found: 'Check the transaction id; it must be on the network of this key.',
  data_not_available: 'Choose another source, time range or dataset; find_sources lists what is recorded.',
  invalid_time_range: 'Correct start and end: start must be before end.',
}

export function toolFailureOf(reply: EndpointReply, body: JsonObject, endpoint: ToolEndpoint): ToolFailure {
  const { error, message, request_id: _id, errors: _errors, upgrade_url: _url, ...detail } = body
  const allowed = Array.isArray(body.allowed) ? `Use one of: ${body.allowed.join(', ')}.` : undefined
  const known = Object.keys(endpoint.params)
  const general =
    reply.status >= 500
      ? 'Try again in a few seconds.'
      : CURSORS.includes(String(body.param))
        ? `Leave ${body.param} out, or take it from rest of the answer before and change no other argument.`
        : `Correct the arguments; ${endpoint.path} takes ${known.join(', ')}.`
  return new ToolFailure(
    String(message ?? `The service answered with status ${reply.status}.`),
    CHANGES[String(error)] ?? allowed ?? general,
    { error: error ?? `status_${reply.status}`, ...detail },
  )
}
