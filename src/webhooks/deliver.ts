import { createHash } from 'node:crypto'
import type { Clock } from '../kit/clock.ts'
import type { SecretBox } from '../kit/secret-box.ts'
import type { Job, JobAttempt, SubscriptionRecord } from '../store/jobs.ts'
import type { Poster, PostResult } from './poster.ts'
import { readRetryAfter } from './schedule.ts'
import { createWebhookSigner, type WebhookSigner } from './sign.ts'

/** One attempt to deliver events: the result of the signed request. */
export interface DeliveryAttempt extends Omit<JobAttempt, 'job'> {
  readonly delivered: boolean
  readonly retryAfterMs: number | undefined
}

export interface DeliveryBody {
  /** The id of the delivery. A batch of several has one of its own. */
  readonly id: string
  /** The kind of the event, or `batch`. */
  readonly kind: string
  readonly body: string
}

export const BATCH_EVENTS = 100
/** A batch ends before the event that would make it longer, but has at least one. */
export const BATCH_BODY_BYTES = 1024 * 1024

/** A single event is the body itself. A batch is an array, even with only one event. */
export function deliveryBody(jobs: readonly Job[], batch: boolean): DeliveryBody {
  const [first] = jobs
  if (first === undefined) throw new RangeError('no job given')
  if (!batch) return { id: first.id, kind: first.event.kind, body: first.event.text }
  const body = `[${jobs.map((job) => job.event.text).join(',')}]`
  return { id: jobs.length === 1 ? first.id : batchId(jobs), kind: 'batch', body }
}

/**
 * Receivers may ignore an id that they have processed. A batch that is sent again can have other events in it, so its
 * id changes with them.
 */
function batchId(jobs: readonly Pick<Job, 'id'>[]): string {
  const ids = jobs.map(({ id }) => id).sort()
  return `${ids[0]}_${createHash('sha256').update(ids.join()).digest('hex').slice(0, 32)}`
}

export function signerOf(
  subscription: Pick<SubscriptionRecord, 'secret' | 'previousSecret' | 'previousUntilMs'>,
  box: SecretBox,
  nowMs: number,
): WebhookSigner {
  const { secret, previousSecret, previousUntilMs } = subscription
  const overlaps = previousSecret !== null && previousUntilMs !== null && nowMs < previousUntilMs
  return createWebhookSigner({
    current: box.open(secret),
    previous: overlaps ? box.open(previousSecret) : null,
  })
}

export async function deliver(
  deps: { poster: Poster; clock: Clock },
  target: { url: URL; signer: WebhookSigner },
  parcel: DeliveryBody,
  isWanted?: () => boolean,
): Promise<DeliveryAttempt> {
  const { poster, clock } = deps
  const { id, kind } = parcel
  // Encoded once, because it is signed up to four times and then sent.
  const body = Buffer.from(parcel.body)
  const timestampS = Math.floor(clock.now() / 1000)
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': 'Tapeline-Webhooks/1',
    'Content-Length': String(body.length),
    'X-Svc-Event': kind,
    'X-Svc-Delivery': id,
    ...target.signer.headers({ id, timestampS, body }),
  }
  const result = await poster.post(target.url, headers, body, isWanted)
  const atMs = clock.now()
  return {
    delivered: result.status !== null && result.status >= 200 && result.status < 300,
    status: result.status,
    error: errorOf(result),
    retryAfterMs: readRetryAfter(result.retryAfter, atMs),
    atMs,
    durationMs: result.durationMs,
    requestHead: headerLines(headers),
    responseHead: result.responseHead,
    response: result.response,
  }
}

/** An attempt that ended before anything was sent, for example because the target is no longer allowed. */
export function notSent(error: unknown, atMs: number): DeliveryAttempt {
  return {
    delivered: false,
    status: null,
    error: error instanceof Error ? error.message : String(error),
    retryAfterMs: undefined,
    atMs,
    durationMs: 0,
    requestHead: null,
    responseHead: null,
    response: null,
  }
}

function headerLines(headers: Record<string, string>): string {
  let lines = ''
  for (const [name, value] of Object.entries(headers)) lines += `${name}: ${value}\r\n`
  return lines
}

function errorOf({ status, error }: PostResult): string | null {
  if (status === null) return error ?? 'no answer'
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400
    ? `answered ${status}: redirects are not followed`
    : `answered ${status}`
}
