import { type Static, Type } from 'typebox'
import { noCredits } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { TIME_FORMS } from '../../../contract/params.ts'
import { ApiError, faultsError, type InputFault } from '../../../core/errors.ts'
import { flagField, integerField, nullableIntegerField, textField } from '../../../core/rows/fields.ts'
import { parseTime } from '../../../core/time.ts'
import type { ReplayRange } from '../../../webhooks/replay.ts'
import { endpoint } from '../services.ts'
import { CreditsUsed, WEBHOOK_ACCESS, webhookId } from './webhook-record.ts'

const instant = (description: string) =>
  Type.Optional(Type.Union([Type.String(), Type.Number()], { description: `${description} ${TIME_FORMS}` }))
const number = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description }))

const AskedRange = Type.Object(
  {
    after_seq: number('Events with a higher number.'),
    since: instant('Events from this time on.'),
    up_to_seq: number('No event with a higher number. Without an end: everything up to now.'),
    until: instant('Events before this time.'),
  },
  { additionalProperties: false },
)

export const replayWebhook = endpoint({
  path: 'POST /v1/webhooks/{id}/replay',
  doc: {
    tag: 'webhooks',
    summary: 'Deliver past events again',
    description:
      'Up to 10,000 events per call, as new deliveries; no more than the credits pay for. An event that waits to be delivered already is not planned again. Each costs a credit when it is delivered, like any delivery. With 10,000 events waiting for the webhook (50,000 for the account) a replay has to wait too (429). It counts as a heavy call while it runs, and an account has one at a time: another one is refused with 429 (`replay_running`). Without an `Idempotency-Key` it ends where it is when its caller disconnects. While the disk of the service is nearly full, nothing is replayed (503).',
  },
  access: WEBHOOK_ACCESS,
  params: { id: webhookId },
  body: { name: 'ReplayRange', schema: AskedRange, example: { after_seq: 0 } },
  // A replay may read all of a long log.
  isLongRead: () => true,
  // Replays that wait for another one would each occupy a slot that other calls need.
  oneAtATime: 'replay_running',
  cost: noCredits,
  returns: object(
    'Replay',
    Type.Object({
      id: textField('Id of the webhook.'),
      events: integerField('Events that will be delivered again.'),
      already_pending: integerField(
        'Events of the range that wait to be delivered already; they are not planned again.',
      ),
      after_seq: integerField('Where the range began.'),
      up_to_seq: integerField('Where it ends.'),
      next_after_seq: nullableIntegerField('Where to go on when there was more than one call replays.'),
      gap: flagField('Whether the log no longer reached back to the beginning.'),
      credits_used: CreditsUsed,
    }),
  ),
  errors: ['not_found', 'credits_exhausted'],
  run: async ({ services, caller, input, body, isGone }) => {
    const range = rangeOf(body as Static<typeof AskedRange>)
    if (services.isDiskLow())
      throw new ApiError(
        'environment_unavailable',
        'The disk of the service is nearly full: nothing is delivered again until it has room. Try again later.',
        { reason: 'disk_low' },
      )
    const replay = await services.webhooks.subscriptions.replay(caller.accountId, input.id, range, isGone)
    return {
      kind: 'object',
      value: {
        id: input.id,
        events: replay.events,
        already_pending: replay.alreadyPending,
        after_seq: replay.afterSeq,
        up_to_seq: replay.upToSeq,
        next_after_seq: replay.nextAfterSeq,
        gap: replay.gap,
        credits_used: 0,
      },
    }
  },
})

function rangeOf(asked: Static<typeof AskedRange>): ReplayRange {
  const { after_seq: afterSeq, since, up_to_seq: upToSeq, until } = asked
  const faults: InputFault[] = []
  const fault = (param: string, message: string) => {
    faults.push({ param, error: 'invalid_param', message })
    return undefined
  }
  const timeOf = (param: string, given: string | number | undefined) =>
    given === undefined
      ? undefined
      : (parseTime(String(given)) ??
        fault(param, `${param} must be an ISO 8601 time, a date, or epoch seconds or milliseconds.`))
  if ((afterSeq === undefined) === (since === undefined)) {
    fault('after_seq', 'Give either after_seq or since.')
  }
  if (upToSeq !== undefined && until !== undefined) fault('up_to_seq', 'Give either up_to_seq or until.')
  if (afterSeq !== undefined && upToSeq !== undefined && upToSeq <= afterSeq) {
    fault('up_to_seq', 'up_to_seq must be above after_seq.')
  }
  const sinceMs = timeOf('since', since)
  const untilMs = timeOf('until', until)
  if (sinceMs !== undefined && untilMs !== undefined && untilMs <= sinceMs) {
    fault('until', 'until must be after since.')
  }
  if (faults.length > 0) throw faultsError(faults)
  return {
    ...(sinceMs === undefined ? { afterSeq: afterSeq ?? 0 } : { sinceMs }),
    ...(upToSeq === undefined ? {} : { upToSeq }),
    ...(untilMs === undefined ? {} : { untilMs }),
  }
}
