import { type Clock, elapsedMs, runEvery } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { OwnCount, SharedCounts } from '../store/shared-counts.ts'
import type { OthersAdmitted, RateLimits } from './rate-window.ts'
import { SharedWindow } from './shared-rate.ts'

/**
 * Shares the rates of accounts among all processes on a store: what each admitted is exchanged ten times a second. While
 * the store is away, every process admits its part of the limit: limit ÷ processes that were there last.
 */
const EXCHANGE_MS = 100
/** Without requests, so that the others know how many processes share. */
const IDLE_EXCHANGE_MS = 1_000
/** Without an exchange for this long, the counts of the others are out of date. */
const MAX_AGE_MS = 2_000
/** A rate is exchanged for this long after its last request. */
const ACTIVE_MS = 2_000
/** In one exchange; the rest comes with the next. */
const MAX_RATES = 1_000
const SECOND_MS = 1_000
const MINUTE_MS = 60_000
/** The clocks of process and store are compared with every exchange; less than this is the way of the answer. */
const MIN_CLOCK_STEP_MS = 50

export interface RateSharing {
  /** What the others have admitted of a rate. */
  open(name: string, limits: RateLimits): OthersAdmitted
  close(): void
}

export function shareRates(deps: {
  store: SharedCounts
  /** Names this run of this process. */
  holder: string
  clock: Clock
  log: Logger
}): RateSharing {
  const { store, holder, clock, log } = deps
  const active = new Map<SharedRate, number>()
  /** Of the store's clock to ours. */
  let aheadMs = 0
  let processes = 1
  let exchangedAtMs = elapsedMs(clock)
  let isRunning = false
  let isAway = false
  let isClosed = false

  const exchange = async () => {
    const sentAtMs = clock.now()
    const sent = [...active.keys()].slice(0, MAX_RATES).map((rate) => {
      if (sentAtMs - (active.get(rate) ?? 0) >= ACTIVE_MS) active.delete(rate)
      return { rate, counts: rate.own(sentAtMs + aheadMs) }
    })
    const { others, ...answer } = await store.exchangeCounts({
      holder,
      counts: sent.flatMap(({ counts }) => counts),
    })
    let place = 0
    for (const { rate, counts } of sent) {
      for (const count of counts) rate.learn(count, others[place++] ?? 0)
      // To the end: where there are more than one exchange takes, all have their turn.
      const usedAtMs = active.get(rate)
      if (usedAtMs !== undefined && active.size > MAX_RATES) {
        active.delete(rate)
        active.set(rate, usedAtMs)
      }
    }
    processes = answer.processes
    const measuredMs = answer.nowMs - (sentAtMs + clock.now()) / 2
    if (Math.abs(measuredMs - aheadMs) > MIN_CLOCK_STEP_MS) aheadMs = measuredMs
    exchangedAtMs = elapsedMs(clock)
  }
  const exchangeOnce = async () => {
    if (isRunning) return
    if (active.size === 0 && elapsedMs(clock) - exchangedAtMs < IDLE_EXCHANGE_MS) return
    isRunning = true
    try {
      await exchange()
      if (isAway) log.info({ processes }, 'rates are shared with other processes again')
      isAway = false
    } catch (err) {
      if (!isAway && !isClosed)
        log.warn({ err, processes }, 'rates cannot be shared: each process admits its part')
      isAway = true
    } finally {
      isRunning = false
    }
  }
  const stop = runEvery(clock, EXCHANGE_MS, () => void exchangeOnce())

  /** What has to be left to others. */
  const held = (rate: SharedRate, window: SharedWindow, limit: number, nowMs: number): number => {
    active.set(rate, nowMs)
    if (elapsedMs(clock) - exchangedAtMs < MAX_AGE_MS) return window.heldByOthers(nowMs + aheadMs)
    return limit - Math.max(1, Math.floor(limit / processes))
  }

  return {
    open(name, limits) {
      const rate = new SharedRate(name, limits)
      return {
        inSecond: (nowMs) => held(rate, rate.second, limits.perSecond, nowMs),
        inMinute: (nowMs) => held(rate, rate.minute, limits.perMinute, nowMs),
        count: (nowMs, amount) => rate.count(nowMs + aheadMs, amount),
      }
    },
    close() {
      isClosed = true
      stop()
    },
  }
}

class SharedRate {
  readonly #name: string
  readonly second: SharedWindow
  readonly minute: SharedWindow

  constructor(name: string, { perSecond, perMinute }: RateLimits) {
    this.#name = name
    this.second = new SharedWindow(SECOND_MS, perSecond)
    this.minute = new SharedWindow(MINUTE_MS, perMinute)
  }

  count(atMs: number, amount: number): void {
    this.second.count(atMs, amount)
    this.minute.count(atMs, amount)
  }

  own(atMs: number): (OwnCount & { window: SharedWindow })[] {
    return [this.second, this.minute].flatMap((window) =>
      window.own(atMs).map(({ startMs, count }) => ({
        name: `rate ${window.sizeMs} ${this.#name}`,
        windowStartMs: startMs,
        count,
        // Until no process needs it any more: it slides through the window after its own.
        validMs: 3 * window.sizeMs,
        window,
      })),
    )
  }

  learn({ window, windowStartMs }: { window: SharedWindow; windowStartMs: number }, others: number): void {
    window.learn(windowStartMs, others)
  }
}
