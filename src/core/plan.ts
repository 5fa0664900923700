import type { CandleInterval } from './interval.ts'
import { INTERVAL_MS } from './interval.ts'

/**
 * Plans are data. Market data calls the middle plan `pro` and the node group calls it `developer`, so a plan has both a
 * name and a tier. Everything that differs between plans is defined only here.
 */
export const TIERS = ['free', 'pro', 'business'] as const
export type Tier = (typeof TIERS)[number]

/** The kinds of data for which a plan limits the depth of history. */
export const HISTORIES = [
  'candles',
  'snapshots',
  'trades',
  'flow',
  'open_interest',
  'liquidations',
  'funding',
] as const
export type History = (typeof HISTORIES)[number]

export interface Plan {
  name: string
  tier: Tier
  creditsPerMonth: number
  requestsPerSecond: number
  requestsPerMinute: number
  maxRowsPerRequest: number
  /** Days of history; null means all of it. */
  historyDays: Record<History, number | null>
  finestCandle: CandleInterval
  heavyCallsInFlight: number
  streamConnections: number
  streamAddresses: number
  webhookSubscriptions: number
  webhookAddresses: number
}

/** Six calendar months are never longer than this. */
const SIX_MONTHS_DAYS = 184

export const BUILT_IN_PLANS: readonly Plan[] = [
  {
    name: 'free',
    tier: 'free',
    creditsPerMonth: 1_000_000,
    requestsPerSecond: 5,
    requestsPerMinute: 300,
    maxRowsPerRequest: 100,
    historyDays: {
      candles: 7,
      snapshots: 7,
      trades: 7,
      flow: 7,
      open_interest: 7,
      liquidations: 7,
      funding: 7,
    },
    finestCandle: '15m',
    heavyCallsInFlight: 2,
    streamConnections: 2,
    streamAddresses: 10,
    webhookSubscriptions: 0,
    webhookAddresses: 0,
  },
  {
    name: 'developer',
    tier: 'pro',
    creditsPerMonth: 10_000_000,
    requestsPerSecond: 25,
    requestsPerMinute: 1_500,
    maxRowsPerRequest: 1_000,
    historyDays: {
      candles: 14,
      snapshots: 30,
      trades: 14,
      flow: SIX_MONTHS_DAYS,
      open_interest: 14,
      liquidations: 14,
      funding: 14,
    },
    finestCandle: '5m',
    heavyCallsInFlight: 5,
    streamConnections: 10,
    streamAddresses: 1_000,
    webhookSubscriptions: 25,
    webhookAddresses: 1_000,
  },
  {
    name: 'business',
    tier: 'business',
    creditsPerMonth: 50_000_000,
    requestsPerSecond: 50,
    requestsPerMinute: 3_000,
    maxRowsPerRequest: 2_500,
    historyDays: {
      candles: 31,
      snapshots: null,
      trades: 31,
      flow: null,
      open_interest: 31,
      liquidations: 31,
      funding: 31,
    },
    finestCandle: '1s',
    heavyCallsInFlight: 10,
    streamConnections: 50,
    streamAddresses: 10_000,
    webhookSubscriptions: 250,
    webhookAddresses: 10_000,
  },
]

/** A tier as shown to users: the name of its plan, followed by the name of the tier if that differs. */
export function tierInWords(tier: Tier): string {
  const name = BUILT_IN_PLANS.find((plan) => plan.tier === tier)?.name ?? tier
  return name === tier ? `${name} plan` : `${name} plan (tier ${tier})`
}

function tierRank(tier: Tier): number {
  return TIERS.indexOf(tier)
}

export function reaches(plan: Plan, tier: Tier): boolean {
  return tierRank(plan.tier) >= tierRank(tier)
}

export function allowsInterval(plan: Plan, interval: keyof typeof INTERVAL_MS): boolean {
  return INTERVAL_MS[interval] >= INTERVAL_MS[plan.finestCandle]
}

/** The lowest tier with a plan that satisfies a condition; null if there is none. */
export function lowestTier(plans: readonly Plan[], allows: (plan: Plan) => boolean): Tier | null {
  return TIERS.find((tier) => plans.some((plan) => plan.tier === tier && allows(plan))) ?? null
}
