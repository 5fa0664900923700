/**
 * The clock of a recorder: the machine's monotonic clock, set by the `Date` header of every answer of its venue. Whoever
 * sets the machine's wall clock moves nothing here.
 *
 *   answer: Date D, sent at s, received at r (monotonic) ──▶ the offset lies between D − r and D + 1 s − s
 *
 *   unknown ──first answer──▶ known ──answer──▶ known more closely
 *                               └──several answers that contradict it and agree with each other──▶ known anew
 *
 * A `Date` has whole seconds. The wall clock is finer, so it is followed while the answers do not contradict it.
 *
 * The clock also notices that the process stood still (stopped, or on a suspended machine): what its sockets hold then is
 * older than it would seem. Listeners are called before anybody reads a time again, and timers wait until what follows
 * from it (sockets that are cut, gaps) has happened.
 */
import { type Clock, elapsedMs, runAfter, runEvery } from '../kit/clock.ts'
import type { Fetch, HttpResponse, ResponseHeaders } from './rest/http.ts'

/** A span of offsets: the venue's time minus the monotonic one. */
interface Bounds {
  readonly fromMs: number
  readonly toMs: number
}

const DATE_STEP_MS = 1_000
/** An answer that took longer proves too little, unless nothing is known yet. */
const MAX_ROUND_TRIP_MS = 2_000
/** A wall clock that is further from the venue's is wrong. */
const MAX_WALL_ERROR_MS = 2_000
/** A wall clock that moved by more between two answers was set; by less, it was corrected a little. */
const MIN_STEP_MS = 100
/** Two clocks run apart by so much of the time. */
const DRIFT = 0.0001
/** So many answers in a row outweigh what was known before. */
const CONTRADICTIONS = 3
const TICK_MS = 1_000
/** Without a sign of this process for longer it stood still. */
export const MAX_STANDSTILL_MS = 5_000
/** Within this time a standstill has had its consequences. */
const NOTICED_WITHIN_MS = 250

export interface VenueClock extends Required<Clock> {
  /** Whether an answer of the venue has set it; until then it shows the machine's time. */
  readonly isKnown: boolean
  /** Resolves when it is known. */
  readonly whenKnown: Promise<void>
  /** When the last answer set it, in its monotonic time. */
  readonly setAtMs: number
  /** Learns from the answers that pass, and spoils those that arrived during a standstill. */
  through(fetch: Fetch): Fetch
  /** Looks for standstills until the returned function is called. */
  watch(): () => void
}

export function createVenueClock(machine: {
  clock: Clock
  /** Milliseconds since the machine was started, those in which it was suspended included; left out where it never is. */
  uptime?: () => number
}): VenueClock {
  const { clock } = machine
  const elapsed = () => elapsedMs(clock)
  const wallOffset = () => clock.now() - elapsed()
  const listeners = new Set<(ms: number) => void>()
  const firstAnswer = Promise.withResolvers<void>()
  let offsetMs = wallOffset()
  let known: Bounds | undefined
  let setAtMs = Number.NEGATIVE_INFINITY
  let rival: { readonly bounds: Bounds; readonly answers: number } | undefined

  let watchers = 0
  let seenMs = 0
  let seenWallMs = 0
  let seenUptimeMs = 0
  let standstills = 0
  let noticedMs = Number.NEGATIVE_INFINITY

  function look(): void {
    seenMs = elapsed()
    seenWallMs = wallOffset()
  }

  function now(): number {
    const nowMs = elapsed()
    if (watchers > 0) {
      if (nowMs - seenMs > MAX_STANDSTILL_MS) stoodStill(nowMs - seenMs)
      // The wall clock was set, or the machine was suspended: its monotonic clock does not count that time.
      else if (Math.abs(wallOffset() - seenWallMs) > MAX_STANDSTILL_MS) compareUptime()
      look()
    }
    return Math.floor(nowMs + offsetMs)
  }

  function compareUptime(): void {
    if (machine.uptime === undefined) return
    const before = seenUptimeMs
    seenUptimeMs = machine.uptime() - elapsed()
    const suspendedMs = seenUptimeMs - before
    if (suspendedMs <= MAX_STANDSTILL_MS) return
    offsetMs += suspendedMs
    if (known !== undefined) known = { fromMs: known.fromMs + suspendedMs, toMs: known.toMs + suspendedMs }
    rival = undefined
    stoodStill(suspendedMs)
  }

  function stoodStill(ms: number): void {
    look()
    standstills += 1
    noticedMs = seenMs
    for (const listener of [...listeners]) listener(ms)
  }

  function after(ms: number, run: () => void): () => void {
    let cancel = runAfter(clock, ms, () => {
      now()
      if (elapsed() - noticedMs < NOTICED_WITHIN_MS) cancel = runAfter(clock, NOTICED_WITHIN_MS, run)
      else run()
    })
    return () => cancel()
  }

  function learn(headers: ResponseHeaders, sentMs: number, receivedMs: number): void {
    const dateMs = Date.parse(headers.get('date') ?? '')
    // From the cache of somebody between us and the venue.
    if (!Number.isFinite(dateMs) || Number(headers.get('age') ?? 0) > 0) return
    if (known !== undefined && receivedMs - sentMs > MAX_ROUND_TRIP_MS) return
    if (!accept({ fromMs: dateMs - receivedMs, toMs: dateMs + DATE_STEP_MS - sentMs })) return
    chooseOffset()
    setAtMs = elapsed()
    firstAnswer.resolve()
  }

  function accept(bounds: Bounds): boolean {
    if (known === undefined) known = bounds
    else {
      const driftMs = (elapsed() - setAtMs) * DRIFT
      const both = overlap({ fromMs: known.fromMs - driftMs, toMs: known.toMs + driftMs }, bounds)
      if (both === undefined) return outweighs(bounds)
      known = both
    }
    rival = undefined
    return true
  }

  function outweighs(bounds: Bounds): boolean {
    const both = rival && overlap(rival.bounds, bounds)
    rival = { bounds: both ?? bounds, answers: both === undefined ? 1 : (rival?.answers ?? 0) + 1 }
    if (rival.answers < CONTRADICTIONS) return false
    known = rival.bounds
    rival = undefined
    return true
  }

  function chooseOffset(): void {
    if (known === undefined) return
    const { fromMs, toMs } = known
    const ofWall = wallOffset()
    const wasSet = Math.abs(ofWall - offsetMs) > MIN_STEP_MS
    const marginMs = wasSet ? 0 : MAX_WALL_ERROR_MS
    if (ofWall >= fromMs - marginMs && ofWall <= toMs + marginMs) offsetMs = ofWall
    else if (offsetMs < fromMs || offsetMs > toMs) offsetMs = (fromMs + toMs) / 2
  }

  /** What was in the sockets during a standstill is read after it, as if it had just been answered. */
  async function* unlessStoodStill(body: AsyncIterable<Uint8Array>, before: number) {
    const check = () => {
      now()
      if (standstills !== before) throw new Error('this process stood still meanwhile')
    }
    for await (const chunk of body) {
      check()
      yield chunk
    }
    check()
  }

  return {
    now,
    elapsed,
    after,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const onAbort = () => {
          cancel()
          reject(signal?.reason)
        }
        const cancel = after(ms, () => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        })
        signal?.addEventListener('abort', onAbort, { once: true })
      }),
    onStandstill(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    get isKnown() {
      return known !== undefined
    },
    whenKnown: firstAnswer.promise,
    get setAtMs() {
      return setAtMs
    },
    through: (fetch) => async (url, init) => {
      const sentMs = elapsed()
      const before = standstills
      const { status, headers, body } = await fetch(url, init)
      now()
      learn(headers, sentMs, elapsed())
      const read: HttpResponse['body'] = body === null ? null : unlessStoodStill(body, before)
      return { status, headers, body: read }
    },
    watch() {
      if (watchers++ === 0) {
        look()
        if (machine.uptime !== undefined) seenUptimeMs = machine.uptime() - elapsed()
      }
      const end = runEvery(clock, TICK_MS, now)
      return () => {
        watchers -= 1
        end()
      }
    },
  }
}

function overlap(a: Bounds, b: Bounds): Bounds | undefined {
  const both = { fromMs: Math.max(a.fromMs, b.fromMs), toMs: Math.min(a.toMs, b.toMs) }
  return both.fromMs <= both.toMs ? both : undefined
}
