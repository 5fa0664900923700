import type { AdmittedRange, EndpointAccess } from '../contract/endpoint.ts'
import type { Params } from '../contract/params.ts'
import { ApiError, type ErrorDetail } from '../core/errors.ts'
import type { Interval } from '../core/interval.ts'
import { allowsInterval, lowestTier, type Plan, reaches, type Tier, tierInWords } from '../core/plan.ts'
import { DAY_MS, formatTime } from '../core/time.ts'
import type { ReadInput } from './read-input.ts'

/** What a plan allows: the endpoint, some parameters, candle intervals, and how far back. */
export interface AdmitContext {
  plan: Plan
  /** All plans of the service: a refusal names the lowest tier that would suffice. */
  plans: readonly Plan[]
  nowMs: number
  upgradeUrl: string
}

/** A client computes "seven days ago" a moment before the request arrives. */
const WINDOW_GRACE_MS = 60_000
/** The window moves while a client pages through its rows. */
const WALK_GRACE_MS = 3_600_000

export function admitEndpoint(access: EndpointAccess, context: AdmitContext): void {
  if (reaches(context.plan, access.tier)) return
  throw restricted(
    'tier_restricted',
    `This endpoint needs the ${tierInWords(access.tier)}.`,
    access.tier,
    context,
  )
}

export function admitParams(
  params: Params,
  read: ReadInput,
  access: EndpointAccess,
  context: AdmitContext,
): void {
  for (const name of read.given) {
    const tier = params[name]?.tier
    if (tier !== undefined && !reaches(context.plan, tier)) {
      throw restricted(
        'tier_restricted',
        `The parameter ${name} needs the ${tierInWords(tier)}.`,
        tier,
        context,
        {
          param: name,
        },
      )
    }
  }
  const gated = access.intervalGate
  if (gated === undefined) return
  const interval = read.input[gated] as Interval
  if (!allowsInterval(context.plan, interval)) {
    const tier = lowestTier(context.plans, (plan) => allowsInterval(plan, interval))
    const message = `The interval ${interval} needs ${tier ? `the ${tierInWords(tier)}` : 'another plan'}; yours reaches down to ${context.plan.finestCandle}.`
    throw restricted('tier_restricted', message, tier, context, { param: gated })
  }
}

/** The range that is served: as requested, or moved to the plan's window. Throws if the range is refused. */
export function admitRange(
  history: NonNullable<EndpointAccess['history']>,
  input: { start?: unknown; end?: unknown; time?: unknown; after?: unknown },
  context: AdmitContext,
): AdmittedRange {
  const { nowMs, plan } = context
  const start = input.start as number | undefined
  // A single instant is treated as a range that ends there.
  const end = (input.end ?? input.time) as number | undefined
  if (start !== undefined && end !== undefined && start > end) {
    throw new ApiError('invalid_time_range', 'start lies after end.', { param: 'start' })
  }
  if (start !== undefined && start > nowMs) {
    throw new ApiError('invalid_time_range', `start lies in the future: it is ${formatTime(nowMs)} now.`, {
      param: 'start',
    })
  }
  const days = plan.historyDays[history.of]
  const windowStartMs = startOfWindow(days, nowMs)
  const graceMs = input.after === undefined ? WINDOW_GRACE_MS : WALK_GRACE_MS
  const range = {
    fromMs: start ?? Math.max(windowStartMs, 0),
    toMs: end ?? nowMs,
    startGiven: start !== undefined,
    endGiven: end !== undefined,
    earliestMs: Math.max(windowStartMs, 0),
    graceMs,
    clamp: undefined,
  }
  const reachesBack = start !== undefined && start < windowStartMs - graceMs
  const whollyBefore = end !== undefined && end < windowStartMs - graceMs
  if (days === null || (!reachesBack && !whollyBefore)) return range
  const earliest = formatTime(windowStartMs)
  const given = start !== undefined ? 'start' : input.end !== undefined ? 'end' : 'time'
  const detail = { param: given, earliest_start: earliest }
  if (history.whenOlder === 'clamp' && !whollyBefore) {
    return { ...range, fromMs: windowStartMs, clamp: { originalStartMs: start ?? windowStartMs } }
  }
  if (history.whenOlder === 'refuse' && reachesBack && range.toMs - range.fromMs > days * DAY_MS + graceMs) {
    throw new ApiError(
      'invalid_time_range',
      `The range is longer than the ${days} days of the plan ${plan.name}; the earliest start is ${earliest}.`,
      detail,
    )
  }
  // With `clamp` the window has to reach the end of the range, with `refuse` its start.
  const neededMs = history.whenOlder === 'clamp' ? range.toMs : Math.min(range.fromMs, range.toMs)
  const tier = lowestTier(
    context.plans,
    (other) => neededMs >= startOfWindow(other.historyDays[history.of], nowMs) - WINDOW_GRACE_MS,
  )
  throw restricted(
    history.refusal,
    `The plan ${plan.name} reaches back ${days} days; the earliest start is ${earliest}.`,
    tier,
    context,
    detail,
  )
}

function startOfWindow(days: number | null, nowMs: number): number {
  return days === null ? Number.NEGATIVE_INFINITY : nowMs - days * DAY_MS
}

function restricted(
  kind: 'tier_restricted' | 'plan_required',
  message: string,
  tier: Tier | null,
  context: AdmitContext,
  detail: ErrorDetail = {},
): ApiError {
  return new ApiError(kind, message, {
    ...detail,
    ...(tier === null ? {} : { required_tier: tier, upgrade_url: context.upgradeUrl }),
  })
}
