/** The rates of accounts, shared by all processes on a store. */
import type { OwnCount } from '../store/shared-counts.ts'
import type { CountExchange, Exchanged } from './exchange-counts.ts'
import type { OthersAdmitted, RateLimits } from './rate-window.ts'
import { SharedWindow } from './shared-window.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

/** Gives what other processes have admitted of a rate. */
export type RateSharing = (name: string, limits: RateLimits) => OthersAdmitted

export function shareRates(exchange: CountExchange): RateSharing {
  return (name, { perSecond, perMinute }) => {
    const second = new SharedWindow(SECOND_MS, perSecond)
    const minute = new SharedWindow(MINUTE_MS, perMinute)
    const rate = new SharedRate(name, [second, minute])
    const held = (window: SharedWindow, limit: number, nowMs: number): number => {
      exchange.use(rate)
      const part = exchange.partOf(limit)
      return part === undefined ? window.heldByOthers(exchange.storeMs(nowMs)) : limit - part
    }
    return {
      inSecond: (nowMs) => held(second, perSecond, nowMs),
      inMinute: (nowMs) => held(minute, perMinute, nowMs),
      count(nowMs, amount) {
        second.count(exchange.storeMs(nowMs), amount)
        minute.count(exchange.storeMs(nowMs), amount)
      },
    }
  }
}

type WindowCount = OwnCount & { readonly window: SharedWindow }

class SharedRate implements Exchanged {
  readonly #name: string
  readonly #windows: readonly SharedWindow[]
  readonly isHeld = false

  constructor(name: string, windows: readonly SharedWindow[]) {
    this.#name = name
    this.#windows = windows
  }

  own(storeMs: number): readonly WindowCount[] {
    return this.#windows.flatMap((window) =>
      window.own(storeMs).map(({ startMs, count }) => ({
        name: `rate ${window.sizeMs} ${this.#name}`,
        windowStartMs: startMs,
        count,
        // Valid until no process needs it any more: the count also slides through the next window.
        validMs: 3 * window.sizeMs,
        window,
      })),
    )
  }

  learn({ window, windowStartMs }: WindowCount, others: number): void {
    window.learn(windowStartMs, others)
  }
}
