/**
 * Which coins are subscribed. A subscription to a coin that the venue no longer lists closes the whole socket without a
 * message, so such a coin would end the recording of all others.
 *
 *   socket closed soon after it opened, ──▶ list requested ──▶ coins that are not listed are left out
 *   or a successor failed                        ▲                             │
 *                       listed again: subscribed ╰──────── every minute ◀──────╯
 *
 * A coin may be delisted while its socket is open: it falls silent, and the socket is not lost, but none that would
 * replace it stays open.
 */
import type { Clock } from '../../kit/clock.ts'
import type { SessionIo, VenueTasks } from '../live/venue-tasks.ts'

/** The venue closes the socket within 155 ms of the subscription. */
const SOON_MS = 5_000
const ASK_EVERY_MS = 60_000

export interface ListedCoins {
  readonly unlisted: ReadonlySet<string>
  /** `subscribe` sends the subscriptions of coins that are listed again. */
  tasks(subscribe: (coins: ReadonlySet<string>, io: SessionIo) => void): VenueTasks
}

export function createListedCoins(options: {
  /** The coins that are recorded. */
  coins: readonly string[]
  /** Requests the coins that the venue lists. */
  ask: (signal: AbortSignal) => Promise<ReadonlySet<string>>
  clock: Clock
}): ListedCoins {
  const { coins, ask, clock } = options
  let unlisted: ReadonlySet<string> = new Set()

  /** Returns the coins that are listed again. */
  async function refresh(signal: AbortSignal): Promise<ReadonlySet<string>> {
    const listed = await ask(signal)
    // A list with none of our coins is rather a wrong answer than the end of them all.
    if (!coins.some((coin) => listed.has(coin))) return new Set()
    const before = unlisted
    unlisted = new Set(coins.filter((coin) => !listed.has(coin)))
    return before.difference(unlisted)
  }

  return {
    get unlisted() {
      return unlisted
    },
    tasks(subscribe) {
      let openedMs = 0
      let doubt = Promise.withResolvers<void>()
      return {
        channels: [],
        connected() {
          openedMs = clock.now()
        },
        disconnected() {
          if (clock.now() - openedMs < SOON_MS) doubt.resolve()
        },
        successorFailed() {
          doubt.resolve()
        },
        async run(io) {
          io.signal.addEventListener('abort', () => doubt.resolve(), { once: true })
          while (!io.signal.aborted) {
            if (unlisted.size === 0) await doubt.promise
            doubt = Promise.withResolvers()
            const again = await refresh(io.signal).catch(() => new Set<string>())
            if (again.size > 0) subscribe(again, io)
            await clock.sleep(ASK_EVERY_MS, io.signal)
          }
        },
      }
    },
  }
}
