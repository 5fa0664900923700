/**
 * Who leads a part of the service, when several processes share a store:
 *
 *   ask ──taken──▶ begin ──renewed every 2 s──▶ …
 *    ▲ every second           │ taken by another, or not renewed in time
 *    └────────── close ◀──────┘
 *
 * A leader that cannot renew its lease stops before the lease ends, by its own monotonic clock: nobody else can have
 * begun. What it still writes after a pause (a stopped process, a long collection) is refused by the store, which checks
 * the fence. A store that only one process uses has no leases: the part begins at once.
 */
import { type Clock, elapsedMs, runAfter } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { Fence, LeaseStore } from '../store/leases.ts'

const LEASE_MS = 10_000
const RENEW_MS = 2_000
const ASK_MS = 1_000
/** A leader stops that long before its lease ends. */
const MARGIN_MS = 1_000
/** After a renewal that failed: the next one may still be in time. */
const RETRY_MS = 500

export interface Leadership {
  /** Undefined where there is one process only, which leads everything. */
  readonly leases: LeaseStore | undefined
  /** Names this process in the leases. */
  readonly holder: string
  readonly clock: Clock
  readonly log: Logger
}

/** What a leader runs. Its `close` resolves when it writes no more. */
export interface LedPart {
  close(): Promise<void>
}

export interface Leader {
  readonly isLeading: boolean
  /** Stops the part and lets another process take it at once. */
  close(): Promise<void>
}

/** Runs `begin` while this process leads the part; `fence` belongs to everything that it writes. */
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

  async function leadWith(fence: Fence, sentAtMs: number): Promise<void> {
    const beginning = begin(fence)
    // Its failure is noticed below; it must not end the process meanwhile.
    beginning.catch(() => {})
    isLeading = true
    log.info({ part, term: fence.term }, 'this process leads now')
    try {
      const why = await keepLease(fence, { sentAtMs, beginning })
      if (why !== undefined) log.warn({ part, term: fence.term, why }, 'this process does not lead any more')
    } finally {
      isLeading = false
      await beginning
        .then((running) => running.close())
        .catch((err) => log.error({ err, part }, 'a part could not be stopped'))
      await leases.release(fence).catch(() => {})
    }
  }

  /** Resolves with the reason why the part has to stop; undefined when this process is asked to. */
  async function keepLease(
    fence: Fence,
    { sentAtMs, beginning }: { sentAtMs: number; beginning: Promise<LedPart> },
  ): Promise<string | undefined> {
    let endsAtMs = sentAtMs + LEASE_MS - MARGIN_MS
    let failure: unknown
    const failed = beginning.then(
      () => new Promise<never>(() => {}),
      (error: unknown) => {
        failure = error
        return 'failed' as const
      },
    )
    let pauseMs = RENEW_MS
    for (;;) {
      const paused = await Promise.race([pause(pauseMs).then(() => 'over' as const), failed])
      if (paused === 'failed') {
        log.error({ err: failure, part }, 'a part could not begin')
        await pause(ASK_MS)
        return 'it could not begin'
      }
      if (stop.signal.aborted) return undefined
      const askedAtMs = elapsedMs(clock)
      if (askedAtMs >= endsAtMs) return 'the lease was not renewed in time'
      const renewed = await within(leases.renew(fence, LEASE_MS), endsAtMs - askedAtMs)
      if (renewed === false) return 'another process leads'
      if (renewed === true) endsAtMs = askedAtMs + LEASE_MS - MARGIN_MS
      pauseMs = renewed === true ? RENEW_MS : RETRY_MS
    }
  }

  /** Undefined when it fails or takes longer. */
  function within(renewing: Promise<boolean>, limitMs: number): Promise<boolean | undefined> {
    return new Promise((resolve) => {
      const cancel = runAfter(clock, limitMs, () => resolve(undefined))
      renewing
        .catch((err) => void log.warn({ err, part }, 'a lease could not be renewed'))
        .then((renewed) => {
          cancel()
          resolve(renewed ?? undefined)
        })
    })
  }

  const pause = (ms: number) => clock.sleep(ms, stop.signal).catch(() => {})

  async function run(): Promise<void> {
    let isAway = false
    while (!stop.signal.aborted) {
      const sentAtMs = elapsedMs(clock)
      const fence = await leases.take({ part, holder, durationMs: LEASE_MS }).catch((err) => {
        if (!isAway) log.warn({ err, part }, 'the leases cannot be read')
        isAway = true
        return undefined
      })
      if (fence === undefined) await pause(ASK_MS)
      else {
        isAway = false
        await leadWith(fence, sentAtMs)
      }
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
