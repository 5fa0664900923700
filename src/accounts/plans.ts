import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { CANDLE_INTERVALS } from '../core/interval.ts'
import { BUILT_IN_PLANS, HISTORIES, type Plan, TIERS } from '../core/plan.ts'

/** The plans of this service: the three built-in ones, changed or joined by an operator's plans file. */
export interface PlanBook {
  get(name: string): Plan
  find(name: string): Plan | undefined
  list(): readonly Plan[]
}

const count = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description })

/** One entry of the file: every field may be left out where `extends` (or the plan's own name) gives it. */
const PlanEntry = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z][a-z0-9_-]{0,31}$', description: 'Name of the plan.' }),
    extends: Type.Optional(Type.String({ description: 'Plan that gives every value that is not stated.' })),
    tier: Type.Optional(Type.Union(TIERS.map((tier) => Type.Literal(tier)))),
    creditsPerMonth: Type.Optional(count('Credits per month.')),
    requestsPerSecond: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
    requestsPerMinute: Type.Optional(Type.Integer({ minimum: 1, maximum: 6_000_000 })),
    maxRowsPerRequest: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
    historyDays: Type.Optional(
      Type.Partial(
        Type.Object(
          Object.fromEntries(HISTORIES.map((name) => [name, Type.Union([count('Days.'), Type.Null()])])),
          { additionalProperties: false },
        ),
      ),
    ),
    finestCandle: Type.Optional(Type.Union(CANDLE_INTERVALS.map((interval) => Type.Literal(interval)))),
    heavyCallsInFlight: Type.Optional(count('Heavy node calls at the same time.')),
    streamConnections: Type.Optional(count('Stream connections.')),
    streamAddresses: Type.Optional(count('Addresses per stream connection.')),
    webhookSubscriptions: Type.Optional(count('Webhook subscriptions.')),
    webhookAddresses: Type.Optional(count('Addresses per webhook subscription.')),
  },
  { additionalProperties: false },
)
const PlanFile = Type.Object({ plans: Type.Array(PlanEntry) }, { additionalProperties: false })

export class PlanFileError extends Error {
  override readonly name = 'PlanFileError'
}

/** @param file the parsed content of the operator's plans file, undefined where there is none */
export function planBook(file?: unknown): PlanBook {
  const plans = new Map<string, Plan>(BUILT_IN_PLANS.map((plan) => [plan.name, plan]))
  for (const entry of readEntries(file)) {
    const { extends: parentName = entry.name, historyDays, ...values } = entry
    const parent = plans.get(parentName)
    if (parent === undefined) {
      throw new PlanFileError(
        `plans file: plan "${entry.name}" extends "${parentName}", which is none of ${[...plans.keys()].join(', ')}`,
      )
    }
    const perMinute = values.requestsPerMinute ?? (values.requestsPerSecond ?? parent.requestsPerSecond) * 60
    plans.set(entry.name, {
      ...parent,
      ...values,
      requestsPerMinute: perMinute,
      historyDays: { ...parent.historyDays, ...historyDays },
    } as Plan)
  }
  return {
    find: (name) => plans.get(name),
    get: (name) => {
      const plan = plans.get(name)
      if (plan === undefined) throw new PlanFileError(`no plan is called "${name}"`)
      return plan
    },
    list: () => [...plans.values()],
  }
}

function readEntries(file: unknown): Static<typeof PlanEntry>[] {
  if (file === undefined) return []
  if (Value.Check(PlanFile, file)) return file.plans
  const [fault] = Value.Errors(PlanFile, file)
  throw new PlanFileError(`plans file: ${fault?.instancePath || '/'} ${fault?.message ?? 'is wrong'}`)
}
