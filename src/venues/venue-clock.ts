/**
 * The clock of a recorder: the machine's monotonic clock, set by the `Date` header of every answer from its venue, so
 * that setting the machine's wall clock does not disturb it.
 *
 *   answer: Date D, sent at s, received at r (monotonic) ──▶ the offset lies between D − r and D + 1 s − s
 *
 *   unknown ──first answer──▶ known ──answer──▶ known more closely
 *      └──far from the wall clock: several that agree with each other──▶ known
 *                               └──several answers that contradict it and agree with each other──▶ known anew
 *
 * A `Date` has whole seconds. The wall clock is finer, so it is followed as long as the answers do not contradict it.
 *
 * The clock also notices when the process stood still (stopped, or on a suspended machine): data in its sockets is then
 * older than its receive time would say. Listeners are called before anyone reads a time again, and timers wait until
 * the consequences (sockets that are cut, gaps) have happened.
 */
import { type Clock, elapsedMs, runAfter, runEvery } from '../kit/clock.ts'
import type { Fetch, HttpResponse, ResponseHeaders } from './rest/http.ts'

/** A range of offsets: the venue's time minus the monotonic time. */
interface Bounds {
  readonly fromMs: number
  readonly toMs: number
}

const DATE_STEP_MS = 1_000
/** An answer that took longer is too imprecise, unless nothing is known yet. */
const MAX_ROUND_TRIP_MS = 2_000
/** A wall clock that differs from the venue's by more than this is wrong. */
const MAX_WALL_ERROR_MS = 2_000
/** A wall clock that moved by more than this between two answers was set; a smaller move is a correction. */
const MIN_STEP_MS = 100
/** Two clocks drift apart by at most this fraction of the time. */
const DRIFT = 0.0001
/** This many consecutive answers that agree replace what was known before. */
const CONTRADICTIONS = 3
/** A first answer further from the wall clock needs others that agree with it, because either may be wrong. */
const MAX_FIRST_ERROR_MS = 3_600_000
const TICK_MS = 1_000
/** The process stood still if it showed no activity for longer than this. */
export const MAX_STANDSTILL_MS = 5_000
/** The consequences of a standstill have happened within this time. */
const NOTICED_WITHIN_MS = 250

export interface VenueClock extends Required<Clock> {
  /** Whether an answer of the venue has set the clock; until then it shows the machine's time. */
  readonly isKnown: boolean
  /** Resolves when the clock is known. */
  readonly whenKnown: Promise<void>
  /** When the last answer set the clock, in monotonic time. */
  readonly setAtMs: number
  /** Learns from the answers that pass through, and fails those that arrived during a standstill. */
  through(fetch: Fetch): Fetch
  /** Watches for standstills until the returned function is called. */
  watch(): () => void
}

export function createVenueClock(machine: {
  clock: Clock
  /** Milliseconds since the machine started, including suspended time; omitted where the machine is never suspended. */
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
      // Called for every message, so each clock is read only once.
      const wallMs = clock.now() - nowMs
      const isWallMoved = Math.abs(wallMs - seenWallMs) > MAX_STANDSTILL_MS
      const stoodMs = nowMs - seenMs
      seenMs = nowMs
      seenWallMs = wallMs
      if (stoodMs > MAX_STANDSTILL_MS) stoodStill(stoodMs)
      // The wall clock was set, or the machine was suspended, which the monotonic clock does not count.
      else if (isWallMoved) compareUptime()
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
    // A response with an `Age` comes from a cache between us and the venue.
    if (!Number.isFinite(dateMs) || Number(headers.get('age') ?? 0) > 0) return
    if (known !== undefined && receivedMs - sentMs > MAX_ROUND_TRIP_MS) return
    if (!accept({ fromMs: dateMs - receivedMs, toMs: dateMs + DATE_STEP_MS - sentMs })) return
    chooseOffset()
    setAtMs = elapsed()
    firstAnswer.resolve()
  }

  function accept(bounds: Bounds): boolean {
    if (known === undefined) {
      const ofWall = wallOffset()
      const isFar = ofWall < bounds.fromMs - MAX_FIRST_ERROR_MS || ofWall > bounds.toMs + MAX_FIRST_ERROR_MS
      if (isFar) return outweighs(bounds)
      known = bounds
    } else {
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

  /** Fails a body that was buffered during a standstill, because it would be read as if it had just been answered. */
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
