/**
 * Decides who leads a part of the service if several processes share a store:
 *
 *   ask ──taken──▶ begin ──renewed every 2 s──▶ …
 *    ▲ every second           │ taken by another
 *    └────────── close ◀──────┘
 *
 * A leader that cannot reach the store keeps its part running and keeps asking. An outage of the store affects all
 * processes, so nobody else can begin, and a recorder that keeps running need not start again when the store is back.
 * Only the store decides who leads: every write checks the fence, so a leader that was cut off alone, paused or stopped
 * writes nothing once another one has taken the lease, and ends when it learns of that. A leader that was stopped for
 * longer than its lease ends in any case. After an outage the others let the leader renew first. A store that only one
 * process uses has no leases, so the part begins at once.
 */
import { type Clock, elapsedMs, runAfter } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { Fence, LeaseStore } from '../store/leases.ts'

const LEASE_MS = 10_000
const RENEW_MS = 2_000
const ASK_MS = 1_000
/** The pause after a failed renewal. */
const RETRY_MS = 500
/** A renewal that is not answered in this time is sent again. */
const RENEWED_WITHIN_MS = 5_000
/** Enough for several attempts of a leader, which may have to connect first. */
const LEADER_FIRST_MS = 3_000

export interface Leadership {
  /** Undefined if there is only one process, which leads everything. */
  readonly leases: LeaseStore | undefined
  /** Identifies this process in the leases. */
  readonly holder: string
  readonly clock: Clock
  readonly log: Logger
}

/** What a leader runs. Its `close` resolves once it no longer writes. */
export interface LedPart {
  close(): Promise<void>
}

export interface Leader {
  readonly isLeading: boolean
  /** Stops the part and lets another process take it at once. */
  close(): Promise<void>
}

/** Runs `begin` while this process leads the part; everything that it writes must carry `fence`. */
export async function leadPart(
  part: string,
  leadership: Leadership,
  begin: (fence: Fence | undefined) => Promise<LedPart>,
): Promise<Leader> {
  const { leases } = leadership
  if (leases !== undefined) return leadByLease(part, { ...leadership, leases }, begin)
  const running = await begin(undefined)
  return { isLeading: true, close: () => running.close() }
}

function leadByLease(
  part: string,
  { leases, holder, clock, log }: Leadership & { readonly leases: LeaseStore },
  begin: (fence: Fence) => Promise<LedPart>,
): Leader {
  const stop = new AbortController()
  let isLeading = false

  async function leadWith(fence: Fence): Promise<void> {
    const beginning = begin(fence)
    // The failure is handled below; until then it must not end the process as an unhandled rejection.
    beginning.catch(() => {})
    isLeading = true
    log.info({ part, term: fence.term }, 'this process leads now')
    try {
      const why = await keepLease(fence, beginning)
      if (why !== undefined) log.warn({ part, term: fence.term, why }, 'this process does not lead any more')
    } finally {
      isLeading = false
      await beginning
        .then((running) => running.close())
        .catch((err) => log.error({ err, part }, 'a part could not be stopped'))
      await leases.release(fence).catch(() => {})
    }
  }

  /** Resolves with the reason why the part has to stop; undefined if this process was asked to stop. */
  async function keepLease(fence: Fence, beginning: Promise<LedPart>): Promise<string | undefined> {
    let failure: unknown
    const failed = new AbortController()
    beginning.catch((error: unknown) => {
      failure = error
      failed.abort()
    })
    const either = AbortSignal.any([stop.signal, failed.signal])
    let isAway = false
    for (let pauseMs = RENEW_MS; ; pauseMs = isAway ? RETRY_MS : RENEW_MS) {
      const awakeAtMs = elapsedMs(clock)
      await clock.sleep(pauseMs, either).catch(() => {})
      if (failed.signal.aborted) {
        log.error({ err: failure, part }, 'a part could not begin')
        await pause(ASK_MS)
        return 'it could not begin'
      }
      if (stop.signal.aborted) return undefined
      // Data that arrived in the meantime waits in the sockets and is older than it would seem.
      if (elapsedMs(clock) - awakeAtMs > LEASE_MS) return 'this process was stopped for longer than its lease'
      try {
        if (!(await answered(leases.renew(fence, LEASE_MS)))) return 'another process leads'
        if (isAway) log.info({ part, term: fence.term }, 'this process still leads')
        isAway = false
      } catch (err) {
        if (!isAway) log.warn({ err, part }, 'a lease could not be renewed')
        isAway = true
      }
    }
  }

  /** Rejects if a renewal takes too long. */
  function answered<R>(renewing: Promise<R>): Promise<R> {
    return new Promise((resolve, reject) => {
      const cancel = runAfter(clock, RENEWED_WITHIN_MS, () => reject(new Error('The store does not answer.')))
      renewing.finally(cancel).then(resolve, reject)
    })
  }

  const pause = (ms: number) => clock.sleep(ms, stop.signal).catch(() => {})

  /** Resolves once the store answers again and a leader has had time to renew its lease. */
  async function storeIsBack(): Promise<void> {
    while (!stop.signal.aborted) {
      await pause(ASK_MS)
      if (await leases.list().catch(() => undefined)) return pause(LEADER_FIRST_MS)
    }
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      const fence = await leases.take({ part, holder, durationMs: LEASE_MS }).catch(async (err) => {
        log.warn({ err, part }, 'the leases cannot be read')
        await storeIsBack()
        return null
      })
      if (fence === undefined) await pause(ASK_MS)
      else if (fence !== null) await leadWith(fence)
    }
  }

  const done = run()
  return {
    get isLeading() {
      return isLeading
    },
    async close() {
      stop.abort()
      await done
    },
  }
}
