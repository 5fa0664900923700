import { Type } from 'typebox'
import { noCredits } from '../../../contract/costs.ts'
import { type CreditCount, object } from '../../../contract/endpoint.ts'
import { ENVIRONMENTS } from '../../../core/environment.ts'
import { HISTORIES, TIERS } from '../../../core/plan.ts'
import {
  constantsField,
  integerField,
  nullableTimeField,
  textField,
  timeField,
} from '../../../core/rows/fields.ts'
import { formatTime } from '../../../core/time.ts'
import { endpoint } from '../services.ts'

const creditFields = {
  used: integerField('Credits used in this period.'),
  limit: integerField('Credits of this period.'),
  remaining: integerField('Credits that are left.'),
  resets_at: timeField('When the credits are renewed.'),
}

const Limits = Type.Object({
  plan: textField('Name of the plan.'),
  tier: constantsField('Market-data name of the plan.', TIERS),
  credits: Type.Object(creditFields, {
    description: 'Of the key where it has a cap of its own, else of the account.',
  }),
  account_credits: Type.Optional(
    Type.Object(creditFields, { description: 'Of the account; only where the key has a cap of its own.' }),
  ),
  rate_limits: Type.Object({
    requests_per_second: integerField('Requests allowed per second.'),
    requests_per_minute: integerField('Requests allowed per minute.'),
    current_second: integerField('Requests of the last second, this one included.'),
    current_minute: integerField('Requests of the last minute, this one included.'),
  }),
  features: Type.Record(Type.String(), Type.Boolean(), { description: 'What the plan can do.' }),
  max_rows_per_request: integerField('Most rows of one page.'),
  max_history_days: Type.Record(Type.String(), Type.Union([Type.Integer(), Type.Null()]), {
    description: 'Days of history per kind of data; null means all of it.',
  }),
  key: Type.Object({
    name: textField('Name of the key that was used.'),
    environment: constantsField('Environment of the key.', ENVIRONMENTS),
    expires_at: nullableTimeField('When the key expires; null: never.'),
  }),
})

export const limits = endpoint({
  path: 'GET /v1/limits',
  doc: {
    tag: 'account',
    summary: 'Plan, credits and rate limits of the account',
  },
  cost: noCredits,
  returns: object('Limits', Limits),
  run: ({ caller, counters, services }) => {
    const { plan } = caller
    const { credits, accountCredits, rate } = counters()
    return {
      kind: 'object',
      value: {
        plan: plan.name,
        tier: plan.tier,
        credits: shown(credits),
        ...(accountCredits === undefined ? {} : { account_credits: shown(accountCredits) }),
        rate_limits: {
          requests_per_second: plan.requestsPerSecond,
          requests_per_minute: plan.requestsPerMinute,
          current_second: rate.second,
          current_minute: rate.minute,
        },
        features: services.features(plan),
        max_rows_per_request: plan.maxRowsPerRequest,
        max_history_days: Object.fromEntries(HISTORIES.map((name) => [name, plan.historyDays[name]])),
        key: {
          name: caller.keyName,
          environment: caller.environment,
          expires_at: caller.expiresAtMs === null ? null : formatTime(caller.expiresAtMs),
        },
      },
    }
  },
})

function shown({ used, limit, remaining, resetsAtMs }: CreditCount) {
  return { used, limit, remaining, resets_at: formatTime(resetsAtMs) }
}
