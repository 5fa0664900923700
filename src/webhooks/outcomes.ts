import type { ClaimedJob, Job, JobAttempt, JobOutcome, ReceiverHealth } from '../store/jobs.ts'
import type { DeliveryAttempt } from './deliver.ts'
import { type DisableReason, disableReason, disabling } from './disable.ts'
import { retryDelayMs } from './schedule.ts'

/** What an attempt means for its jobs and for the subscription. */
export interface AttemptOutcomes {
  readonly outcomes: JobOutcome[]
  readonly health: ReceiverHealth
  /** The first failure since the last success; null after a success. */
  readonly failingSinceMs: number | null
  /** Why the subscription is disabled as a result. */
  readonly disable: DisableReason | undefined
}

export function outcomesOf(
  jobs: readonly Job[],
  attempt: DeliveryAttempt,
  before: { readonly subscriptionId: string; readonly failingSinceMs: number | null },
  random: () => number,
  retryDelaysMs?: readonly number[],
): AttemptOutcomes {
  const { subscriptionId } = before
  const { atMs, status, delivered } = attempt
  if (delivered) {
    return {
      outcomes: jobs.map((job) => ({ kind: 'delivered', ...jobAttempt(job, attempt) })),
      health: { subscriptionId, ok: true, atMs, disable: null },
      failingSinceMs: null,
      disable: undefined,
    }
  }
  const failingSinceMs = before.failingSinceMs ?? atMs
  const disable = disableReason({ status, atMs }, failingSinceMs)
  // Jobs that were sent together are retried together.
  const jitter = random()
  return {
    outcomes: jobs.map((job) => failureOf(job, attempt, jitter, retryDelaysMs)),
    health: { subscriptionId, ok: false, atMs, ...disabling(disable, atMs) },
    failingSinceMs,
    disable,
  }
}

/** Jobs that are pending when a subscription is disabled continue after it is enabled again. */
function failureOf(
  job: Job,
  attempt: DeliveryAttempt,
  jitter: number,
  retryDelaysMs?: readonly number[],
): JobOutcome {
  const delayMs = retryDelayMs(job.failures + 1, attempt.retryAfterMs, () => jitter, {
    delaysMs: retryDelaysMs,
    tookMs: attempt.durationMs,
  })
  return delayMs === undefined
    ? { kind: 'failed', ...jobAttempt(job, attempt) }
    : { kind: 'retry', delayMs, ...jobAttempt(job, attempt) }
}

/** The part of an attempt that the store keeps. */
function jobAttempt(job: Job, { delivered: _, retryAfterMs: __, ...attempt }: DeliveryAttempt): JobAttempt {
  return { job: jobRef(job), ...attempt }
}

/** The part of a job that the store needs to settle it, without the event's text. */
export function jobRef({ id, subscriptionId, claim }: Job): ClaimedJob {
  return { id, subscriptionId, claim }
}
