/**
 * Commands sent on one socket and not answered yet.
 *
 *   sent ──reply──▶ done
 *     ╰──error──▶ failed ──after a pause that grows──▶ sent again
 *
 * A subscription without any reply is not sent again: if the venue accepted it after all, every change would arrive
 * twice. The socket is replaced instead.
 */
import { backoffCeilingMs } from '../../kit/backoff.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'

type KalshiAction = 'subscribe' | 'add_markets' | 'delete_markets' | 'get_snapshot'

export interface KalshiCommand<About> {
  readonly action: KalshiAction
  readonly tickers: readonly string[]
  readonly about: About
  /** How often the command was sent before. */
  readonly tries?: number
}

interface Pending<About> {
  readonly command: KalshiCommand<About>
  sentMs: number
  isFailed: boolean
}

export interface Commands<About> {
  /** Returns the frame of a command and keeps the command until it is answered. */
  send(command: KalshiCommand<About>, frameOf: (id: number) => string, nowMs: number): string
  /** An id for a command whose reply does not matter. */
  nextId(): number
  find(id: number): KalshiCommand<About> | undefined
  answered(id: number): KalshiCommand<About> | undefined
  /** The venue refused the command. */
  failed(id: number): void
  /**
   * Removes overdue commands and returns those to send again and those given up. Requests for books are in neither
   * list, because their arrival is tracked elsewhere.
   */
  takeFailed(nowMs: number): { again: KalshiCommand<About>[]; givenUp: KalshiCommand<About>[] }
  /** Whether a subscription has gone without a reply for too long. */
  isHopeless(nowMs: number, patienceMs: number): boolean
  /** Time during which nothing could be read does not count. */
  forgive(ms: number): void
}

const RETRY = { baseMs: TIMES.askAgainMs, capMs: TIMES.setAsideMs }
/**
 * How often contracts are added. On the book channel, the book proves that the command arrived, and a contract without
 * one is set aside; for trades there is no such proof.
 */
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
      const givenUp: KalshiCommand<About>[] = []
      for (const [id, waiting] of pending) {
        const { command, sentMs } = waiting
        const tries = command.tries ?? 0
        const isUnheard = command.action === 'subscribe' && !waiting.isFailed
        if (isUnheard || nowMs - sentMs < backoffCeilingMs(RETRY, tries)) continue
        pending.delete(id)
        if (isAgain(waiting)) again.push({ ...command, tries: tries + 1 })
        else if (command.action === 'add_markets') givenUp.push(command)
      }
      return { again, givenUp }
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
