/**
 * Commands sent on one socket and not answered yet.
 *
 *   sent ──reply──▶ done
 *     ╰──error──▶ failed ──after a while, later and later──▶ sent again
 *
 * A subscription that stays without any reply is not sent again: if the venue took it after all, every change would
 * come twice. That socket is replaced.
 */
import { backoffCeilingMs } from '../../kit/backoff.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'

type KalshiAction = 'subscribe' | 'add_markets' | 'delete_markets' | 'get_snapshot'

export interface KalshiCommand<About> {
  readonly action: KalshiAction
  readonly tickers: readonly string[]
  readonly about: About
  /** How often it was sent before. */
  readonly tries?: number
}

interface Pending<About> {
  readonly command: KalshiCommand<About>
  sentMs: number
  isFailed: boolean
}

export interface Commands<About> {
  /** The frame of a command that is waited for. */
  send(command: KalshiCommand<About>, frameOf: (id: number) => string, nowMs: number): string
  /** A number for a command whose reply does not matter. */
  nextId(): number
  find(id: number): KalshiCommand<About> | undefined
  answered(id: number): KalshiCommand<About> | undefined
  /** The venue refused. */
  failed(id: number): void
  /** Takes out what is to be sent again. Books are not: whether they came is known elsewhere. */
  takeFailed(nowMs: number): KalshiCommand<About>[]
  /** Whether a subscription has stayed without a reply for too long. */
  isHopeless(nowMs: number, patienceMs: number): boolean
  /** Time in which nothing could be read does not count. */
  forgive(ms: number): void
}

const RETRY = { baseMs: TIMES.askAgainMs, capMs: TIMES.setAsideMs }
/** The book of an added contract proves that the command arrived; without it the contract is set aside. */
const ADD_TRIES = 3

export function createCommands<About>(): Commands<About> {
  const pending = new Map<number, Pending<About>>()
  let lastId = 0

  function isAgain({ command, isFailed }: Pending<About>): boolean {
    if (command.action === 'subscribe') return isFailed
    return command.action === 'add_markets' && (command.tries ?? 0) + 1 < ADD_TRIES
  }

  return {
    send(command, frameOf, nowMs) {
      const id = ++lastId
      pending.set(id, { command, sentMs: nowMs, isFailed: false })
      return frameOf(id)
    },
    nextId: () => ++lastId,
    find: (id) => pending.get(id)?.command,
    answered(id) {
      const command = pending.get(id)?.command
      pending.delete(id)
      return command
    },
    failed(id) {
      const waiting = pending.get(id)
      if (waiting !== undefined) waiting.isFailed = true
    },
    takeFailed(nowMs) {
      const again: KalshiCommand<About>[] = []
      for (const [id, waiting] of pending) {
        const { command, sentMs } = waiting
        const tries = command.tries ?? 0
        const isUnheard = command.action === 'subscribe' && !waiting.isFailed
        if (isUnheard || nowMs - sentMs < backoffCeilingMs(RETRY, tries)) continue
        pending.delete(id)
        if (isAgain(waiting)) again.push({ ...command, tries: tries + 1 })
      }
      return again
    },
    isHopeless: (nowMs, patienceMs) =>
      [...pending.values()].some(
        ({ command, isFailed, sentMs }) =>
          command.action === 'subscribe' && !isFailed && nowMs - sentMs > patienceMs,
      ),
    forgive(ms) {
      for (const waiting of pending.values()) waiting.sentMs += ms
    },
  }
}
