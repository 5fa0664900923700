import { type Static, Type } from 'typebox'
import { ApiError } from '../../../core/errors.ts'
import { parseTime } from '../../../core/time.ts'
import { noCredits } from '../../contract/costs.ts'
import { object } from '../../contract/endpoint.ts'
import { endpoint } from '../services.ts'
import { CreditsUsed, EXAMPLE, orNull, WEBHOOK_ACCESS, webhookId } from './webhook-record.ts'

const ReplayRange = Type.Object(
  {
    after_seq: Type.Optional(Type.Integer({ minimum: 0, description: 'Events with a higher number.' })),
    since: Type.Optional(
      Type.Union([Type.String(), Type.Number()], { description: 'Events from this time on, as everywhere.' }),
    ),
  },
  { additionalProperties: false },
)

export const replayWebhook = endpoint({
  path: 'POST /v1/webhooks/{id}/replay',
  doc: {
    tag: 'webhooks',
    summary: 'Deliver past events again',
    description:
      'Up to 10,000 events per call, as new deliveries. Events that are not delivered yet arrive anyway. Each costs a credit when it is delivered.',
    example: {
      id: EXAMPLE.id,
      events: 120,
      after_seq: 1000,
      up_to_seq: 2400,
      next_after_seq: null,
      gap: false,
      credits_used: 0,
    },
  },
  access: WEBHOOK_ACCESS,
  params: { id: webhookId },
  body: { name: 'ReplayRange', schema: ReplayRange, example: { after_seq: 1000 } },
  cost: noCredits,
  returns: object(
    'Replay',
    Type.Object({
      id: Type.String({ description: 'Id of the webhook.' }),
      events: Type.Integer({ description: 'Events that will be delivered again.' }),
      after_seq: Type.Integer({ description: 'Where the range began.' }),
      up_to_seq: Type.Integer({ description: 'Where it ends.' }),
      next_after_seq: orNull(Type.Integer(), 'Where to go on when there was more than one call replays.'),
      gap: Type.Boolean({ description: 'Whether the log no longer reached back to the beginning.' }),
      credits_used: CreditsUsed,
    }),
  ),
  errors: ['not_found'],
  run: async ({ services, caller, input, body }) => {
    const from = rangeOf(body as Static<typeof ReplayRange>)
    const replay = await services.webhooks.subscriptions.replay(caller.accountId, input.id, from)
    return {
      kind: 'object',
      value: {
        id: input.id,
        events: replay.events,
        after_seq: replay.afterSeq,
        up_to_seq: replay.upToSeq,
        next_after_seq: replay.nextAfterSeq,
        gap: replay.gap,
        credits_used: 0,
      },
    }
  },
})

function rangeOf(range: Static<typeof ReplayRange>): { afterSeq: number } | { sinceMs: number } {
  const { after_seq: afterSeq, since } = range
  if ((afterSeq === undefined) === (since === undefined)) {
    throw new ApiError('invalid_param', 'Give either after_seq or since.', { param: 'after_seq' })
  }
  if (afterSeq !== undefined) return { afterSeq }
  const sinceMs = parseTime(String(since))
  if (sinceMs !== undefined) return { sinceMs }
  throw new ApiError(
    'invalid_param',
    'since must be an ISO 8601 time, a date, or epoch seconds or milliseconds.',
    {
      param: 'since',
    },
  )
}
