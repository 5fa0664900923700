import { StoreUnavailableError } from '../core/store-unavailable.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { Job, JobOutcome, JobsStore, ReceiverHealth } from '../store/jobs.ts'
import { jobRef } from './outcomes.ts'

/**
 * Writes the outcomes of jobs to the store, one write at a time; outcomes that arrive meanwhile go into the next one.
 * While the store is unavailable they wait, until the claims have expired and the jobs are tried again. Charges carry
 * the ids of the deliveries, so that a repeated delivery is not charged twice.
 */
export interface OutcomeWriter {
  add(outcomes: readonly JobOutcome[], health?: ReceiverHealth): void
  /** Is written with the next outcomes. */
  note(health: ReceiverHealth): void
  /** Gives back jobs that were not tried. */
  giveBack(jobs: readonly Job[]): void
  /** Resolves when everything added so far is written. */
  written(): Promise<void>
}

/** How long outcomes are gathered for one write; charges are journalled no sooner. */
const GATHER_MS = 20
const AGAIN_MS = 500
/** Shorter than a claim lasts. */
const MAX_AWAY_MS = 20_000

export function createOutcomeWriter(deps: {
  store: Pick<JobsStore, 'settle'>
  clock: Clock
  log: Logger
}): OutcomeWriter {
  let outcomes: JobOutcome[] = []
  let health: ReceiverHealth[] = []
  /** The latest state of each subscription; repeating the same state adds nothing. */
  let latest = new Map<string, ReceiverHealth>()
  let writing: Promise<void> | undefined

  async function write(): Promise<void> {
    while (outcomes.length > 0) {
      await deps.clock.sleep(GATHER_MS)
      const group = outcomes
      const states = health
      outcomes = []
      health = []
      latest = new Map()
      await writeGroup(group, states).catch((err) =>
        deps.log.error({ err }, 'outcomes of deliveries could not be stored'),
      )
    }
    writing = undefined
  }

  async function writeGroup(group: JobOutcome[], states: ReceiverHealth[]): Promise<void> {
    for (let waitedMs = 0; ; waitedMs += AGAIN_MS) {
      try {
        return await deps.store.settle(group, states)
      } catch (error) {
        if (!(error instanceof StoreUnavailableError) || waitedMs >= MAX_AWAY_MS) throw error
      }
      await deps.clock.sleep(AGAIN_MS)
    }
  }

  function written(): Promise<void> {
    // With nothing to write, `write` would finish before it is assigned to `writing`, which would then never be
    // cleared.
    if (writing === undefined && outcomes.length === 0) return Promise.resolve()
    writing ??= write()
    return writing
  }

  function addHealth(state: ReceiverHealth): void {
    const before = latest.get(state.subscriptionId)
    if (before !== undefined && before.ok === state.ok && state.disable === null) return
    latest.set(state.subscriptionId, state)
    health.push(state)
  }

  function add(more: readonly JobOutcome[], state?: ReceiverHealth): void {
    if (more.length === 0) return
    outcomes.push(...more)
    if (state !== undefined) addHealth(state)
    void written()
  }

  return {
    add,
    note: addHealth,
    giveBack: (jobs) => add(jobs.map((job) => ({ kind: 'release', job: jobRef(job) }))),
    written,
  }
}
