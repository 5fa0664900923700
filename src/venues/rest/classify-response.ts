/** Decides what a venue's HTTP response means for the client. Status codes are handled only here. */
import type { ResponseHeaders } from './http.ts'

export type Verdict =
  | { readonly kind: 'ok' }
  /** Send no request at all until this much time has passed. */
  | { readonly kind: 'halt'; readonly waitMs: number; readonly reason: string }
  | { readonly kind: 'retry'; readonly reason: string }
  | { readonly kind: 'refused'; readonly reason: string }

/** Waits without a `Retry-After`, for a rate limit, a ban and a firewall. Requests during a ban make it longer. */
const LIMITED_MS = 16_000
const BANNED_MS = 120_000
const BLOCKED_MS = 60_000
/** Longer than the window of any limit; an absurd header must not stop the recording of a venue for days. */
const MAX_LIMITED_MS = 15 * 60_000
/** The longest ban of any venue. */
const MAX_BANNED_MS = 3 * 24 * 3_600_000
/** A wait of zero would use up all tries at once. */
const MIN_HALT_MS = 1_000

export function classifyReply(reply: {
  status: number
  headers: ResponseHeaders
  body: string
  nowMs: number
}): Verdict {
  const { status, body } = reply
  if (status >= 200 && status < 300) return { kind: 'ok' }
  switch (status) {
    case 429:
      return { kind: 'halt', waitMs: retryAfterMs(reply, MAX_LIMITED_MS) ?? LIMITED_MS, reason: 'rate limit' }
    case 418:
      return {
        kind: 'halt',
        waitMs: retryAfterMs(reply, MAX_BANNED_MS) ?? bannedUntilMs(reply) ?? BANNED_MS,
        reason: 'banned',
      }
    case 403:
      return {
        kind: 'halt',
        waitMs: retryAfterMs(reply, MAX_LIMITED_MS) ?? BLOCKED_MS,
        reason: 'blocked by the firewall',
      }
    case 451:
      return { kind: 'refused', reason: 'refused for this region' }
    case 408:
      return { kind: 'retry', reason: 'timeout at the venue' }
  }
  // We send no conditional requests and follow no redirects, so this status comes from an intermediary.
  if (status < 400) return { kind: 'retry', reason: `status ${status}` }
  if (status >= 500) {
    // Hyperliquid answers a coin it does not know with status 500 and `null`; a retry cannot help.
    if (body.trim() === 'null') return { kind: 'refused', reason: `status ${status} with null: unknown name` }
    return { kind: 'retry', reason: `status ${status}` }
  }
  return { kind: 'refused', reason: `status ${status}: ${errorText(body)}` }
}

/** After a refused upgrade: for how long the venue wants no other one. Limits and bans count sockets, too. */
export function limitedForMs(reply: { status: number; headers: ResponseHeaders; nowMs: number }): number {
  if (reply.status !== 429 && reply.status !== 418) return 0
  const verdict = classifyReply({ ...reply, body: '' })
  return verdict.kind === 'halt' ? verdict.waitMs : 0
}

function retryAfterMs(reply: { headers: ResponseHeaders; nowMs: number }, maxMs: number): number | undefined {
  const text = reply.headers.get('retry-after')
  if (text === null || text.trim() === '') return undefined
  const seconds = Number(text)
  const waitMs = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(text) - reply.nowMs
  return Number.isFinite(waitMs) && waitMs >= 0 ? within(waitMs, maxMs) : undefined
}

function bannedUntilMs(reply: { body: string; nowMs: number }): number | undefined {
  const match = /banned until (\d{13})/.exec(reply.body)
  return match === null ? undefined : within(Number(match[1]) - reply.nowMs, MAX_BANNED_MS)
}

function within(waitMs: number, maxMs: number): number {
  return Math.min(Math.max(MIN_HALT_MS, waitMs), maxMs)
}

/** Binance sends `{"code":-1121,"msg":"Invalid symbol."}`; others send a line of text or a page of HTML. */
function errorText(body: string): string {
  try {
    const parsed: unknown = JSON.parse(body)
    if (typeof parsed === 'object' && parsed !== null && 'msg' in parsed) {
      return 'code' in parsed ? `${parsed.code} ${parsed.msg}` : String(parsed.msg)
    }
  } catch {
    // Not JSON: the beginning of the body is the message.
  }
  return body.slice(0, 120)
}
