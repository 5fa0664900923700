import type { Job, JobOutcome, PlannedJobs } from '../jobs.ts'
import { deliveryId, deliveryNumber } from './delivery-id.ts'

/**
 * Jobs and outcomes cross to the writer thread and back as rows of plain values, because objects would repeat the names
 * of their members thousands of times a second.
 */
export type ClaimedRow = readonly [
  number: number,
  failures: number,
  seq: number,
  eventId: string,
  kind: string,
  text: string,
]
export type OutcomeRow = readonly [
  kind: JobOutcome['kind'],
  number: number,
  claim: number,
  /** Only used for a retry. */
  delayMs: number,
  atMs: number,
  status: number | null,
  error: string | null,
  durationMs: number,
  requestHead: string | null,
  responseHead: string | null,
  response: string | null,
]
export interface PlannedRows {
  readonly events: readonly (readonly [seq: number, id: string, kind: string, text: string])[]
  readonly jobs: readonly (readonly [subscriptionId: string, seq: number])[]
  readonly nowMs: number
}

export function jobOf(row: ClaimedRow, subscriptionId: string, claim: number): Job {
  const [number, failures, seq, id, kind, text] = row
  return {
    id: deliveryId(subscriptionId, number),
    subscriptionId,
    failures,
    claim,
    event: { seq, id, kind, text },
  }
}

export function outcomeRow(outcome: JobOutcome): OutcomeRow {
  const { kind, job } = outcome
  // No job has the number 0.
  const number = deliveryNumber(job.subscriptionId, job.id) ?? 0
  if (kind === 'release') {
    return [kind, number, job.claim, 0, 0, null, null, 0, null, null, null]
  }
  const delayMs = kind === 'retry' ? outcome.delayMs : 0
  const { atMs, status, error, durationMs, requestHead, responseHead, response } = outcome
  return [
    kind,
    number,
    job.claim,
    delayMs,
    atMs,
    status,
    error,
    durationMs,
    requestHead,
    responseHead,
    response,
  ]
}

export function plannedRows(
  { events, jobs }: Pick<PlannedJobs, 'events' | 'jobs'>,
  nowMs: number,
): PlannedRows {
  return {
    events: events.map(({ seq, id, kind, text }) => [seq, id, kind, text] as const),
    jobs: jobs.map(({ subscriptionId, seq }) => [subscriptionId, seq] as const),
    nowMs,
  }
}
