import type { Credential } from '../accounts/key-ring.ts'
import { formatTime } from '../core/time.ts'
import type { HeaderList } from './request.ts'

/** The headers that tell a caller where it stands: plan, credits, rate. */
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

/** Every header of ours that a page in a browser may read. */
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
] as const
