import type { Logger } from '../kit/log.ts'
import type { Health, Job, JobsStore, Outcome } from '../store/jobs.ts'

/**
 * What became of jobs, on its way into the store: one write at a time, whatever is settled meanwhile goes into
 * the next one. What cannot be written is tried again when its lease has run out; the charges keep their ids.
 */
export interface Settlement {
  add(outcomes: readonly Outcome[], health?: Health): void
  /** Gives jobs back that were not tried. */
  giveBack(jobs: readonly Job[], dueAtMs: number): void
  /** Resolves when everything that was added is written. */
  written(): Promise<void>
}

/** How long outcomes are gathered for one write; charges are journalled no sooner. */
const GATHER_MS = 20

export function createSettlement(deps: { store: Pick<JobsStore, 'settle'>; log: Logger }): Settlement {
  let outcomes: Outcome[] = []
  let health: Health[] = []
  /** The last word about each subscription: the same again adds nothing. */
  let latest = new Map<string, Health>()
  let writing: Promise<void> | undefined

  async function write(): Promise<void> {
    while (outcomes.length > 0) {
      await new Promise((resolve) => setTimeout(resolve, GATHER_MS))
      const group = outcomes
      const states = health
      outcomes = []
      health = []
      latest = new Map()
      await deps.store
        .settle(group, states)
        .catch((err) => deps.log.error({ err }, 'deliveries could not be settled'))
    }
    writing = undefined
  }

  function written(): Promise<void> {
    writing ??= write()
    return writing
  }

  function note(state: Health): void {
    const before = latest.get(state.subscriptionId)
    if (before !== undefined && before.ok === state.ok && state.disable === null) return
    latest.set(state.subscriptionId, state)
    health.push(state)
  }

  function add(more: readonly Outcome[], state?: Health): void {
    if (more.length === 0) return
    outcomes.push(...more)
    if (state !== undefined) note(state)
    void written()
  }

  return {
    add,
    giveBack: (jobs, dueAtMs) => add(jobs.map((job) => ({ kind: 'release', job: refOf(job), dueAtMs }))),
    written,
  }
}

/** What the store needs to settle a job; the event's text does not travel back. */
export function refOf({ number, leaseMs }: Job): Pick<Job, 'number' | 'leaseMs'> {
  return { number, leaseMs }
}
