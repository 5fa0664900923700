import type { Credential } from '../accounts/key-ring.ts'
import type { ViewAllowance } from '../accounts/view-allowance.ts'
import type { EndpointAnswer, ListAnswer } from '../contract/endpoint.ts'
import { formatTime } from '../core/time.ts'
import { askedRows } from './price.ts'
import { KEY_PARAMS } from './read-input.ts'
import type { Rendered } from './render.ts'
import type { GateReply, GateRequest, HeaderList } from './request.ts'
import { remainingOf, type ServedRequest } from './task.ts'

/** Headers with the caller's plan, credits and rate. */
export function meterHeaders(
  credential: Credential,
  nowMs: number,
  credits: { charged: number; remaining: number },
): HeaderList {
  const { plan, rate } = credential
  const state = rate.state(nowMs)
  const charged = String(credits.charged)
  const resetSeconds = Math.max(0, Math.ceil((state.resetsAtMs - nowMs) / 1000))
  return [
    'X-Plan',
    plan.name,
    'X-Credits-Used',
    charged,
    'X-Credits-Charged',
    charged,
    'X-Credits-Remaining',
    String(credits.remaining),
    'X-RateLimit-Limit',
    String(state.limit),
    'X-RateLimit-Remaining',
    String(state.remaining),
    'X-RateLimit-Reset',
    formatTime(state.resetsAtMs),
    'RateLimit',
    `"${state.window}";r=${state.remaining};t=${resetSeconds}`,
    'RateLimit-Policy',
    `"second";q=${rate.perSecond};w=1, "minute";q=${rate.perMinute};w=60`,
  ]
}

/** Our headers that scripts in a browser may read. */
export const EXPOSED_HEADERS = [
  'X-Request-Id',
  'X-Plan',
  'X-Credits-Used',
  'X-Credits-Charged',
  'X-Credits-Remaining',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
  'X-Rows-Returned',
  'X-Rows-Capped',
  'X-Next-Cursor',
  'X-Coverage-Complete',
  'X-Clamped',
  'Link',
  'ETag',
  'Retry-After',
  'Idempotent-Replayed',
  'Location',
] as const

export function viewHeaders(left: ViewAllowance, credits: { price: number; charged?: number }): HeaderList {
  const { price, charged } = credits
  return [
    'X-Credits-Price',
    String(price),
    ...(charged === undefined ? [] : ['X-Credits-Charged', String(charged)]),
    'X-View-Allowance',
    String(left.limit),
    'X-View-Allowance-Remaining',
    String(left.remaining),
  ]
}

export function replyOf<Services>(
  task: ServedRequest<Services>,
  answer: EndpointAnswer,
  rendered: Rendered,
  facts: { rowLimit: number; credits: number; unchanged: boolean },
): GateReply {
  const { credential, nowMs } = task
  const headers = meterHeaders(credential, nowMs, {
    charged: facts.credits,
    remaining: remainingOf(credential),
  })
  if (answer.kind === 'list') {
    pushListHeaders(headers, answer, task, facts.rowLimit < askedRows(task.input) && answer.hasMore)
  }
  return contentReply(answer, rendered, headers, facts.unchanged)
}

function pushListHeaders<Services>(
  headers: HeaderList,
  answer: ListAnswer,
  { request, route }: ServedRequest<Services>,
  capped: boolean,
): void {
  headers.push(
    'X-Rows-Returned',
    String(answer.count),
    'X-Rows-Capped',
    String(capped),
    'X-Coverage-Complete',
    String(answer.coverageComplete),
    'X-Clamped',
    String(answer.clamped),
  )
  if (answer.nextCursor === null) return
  const { returns } = route.endpoint
  const param = (returns.kind === 'list' && returns.envelope?.cursor) || 'after'
  headers.push('X-Next-Cursor', answer.nextCursor, 'Link', nextLink(request, param, answer.nextCursor))
}

/** The same request with the new cursor and without the key. */
function nextLink(request: GateRequest, param: string, cursor: string): string {
  const query = new URLSearchParams(request.search)
  for (const name of KEY_PARAMS) query.delete(name)
  query.set(param, cursor)
  return `<${request.path}?${query}>; rel="next"`
}

/** A successful answer with its content type, tag and how long it may be cached. */
export function contentReply(
  answer: EndpointAnswer,
  rendered: Rendered,
  headers: HeaderList,
  unchanged: boolean,
): GateReply {
  headers.push('Content-Type', rendered.contentType)
  if (rendered.etag !== undefined) headers.push('ETag', rendered.etag)
  headers.push(
    'Cache-Control',
    rendered.sealed ? 'private, max-age=31536000, immutable' : 'private, no-cache',
  )
  if (answer.kind !== 'list') for (const [name, value] of answer.headers ?? []) headers.push(name, value)
  if (unchanged) {
    rendered.lent?.release()
    return { status: 304, headers, body: '' }
  }
  const status = answer.kind === 'list' ? 200 : (answer.status ?? 200)
  return {
    status,
    headers,
    body: rendered.body,
    ...(rendered.encoded ? { encoded: rendered.encoded } : {}),
    ...(rendered.lent ? { lent: rendered.lent } : {}),
  }
}
