/**
 * A socket that reconnects, with backoff, until it is closed.
 *
 *   connect ──open──▶ up ──lost──▶ wait (backoff) ──▶ connect …          close() ends it from any state
 */
import { backoffMs } from '../kit/backoff.ts'
import { elapsedMs } from '../kit/clock.ts'
import type { NodePorts } from './node-ports.ts'
import type { NodeAnswer, OnAnswer, PendingCall } from './open-calls.ts'
import { type WireCallOptions, WrpcSocket } from './wrpc.ts'

export interface ReconnectingSocketOptions {
  url: string
  ports: NodePorts
  onUp?: () => void
  onDown?: (detail: string) => void
}

export interface ReconnectingSocket {
  readonly up: boolean
  readonly inFlight: number
  /** Calls that will be sent at the end of this turn of the event loop. */
  readonly leaving: number
  silentMs(nowMs: number): number
  ask(method: string, paramsText: string, timeoutMs: number, onAnswer: OnAnswer): PendingCall | undefined
  call(method: string, paramsText: string, options: WireCallOptions): Promise<NodeAnswer>
  close(): void
}

const RECONNECT = { baseMs: 100, capMs: 3_000 }
/** Full jitter can yield 0, and a dead port must not be dialled in a tight loop. */
const MIN_WAIT_MS = 25
/** A connection that lasted this long resets the backoff. */
const STABLE_MS = 5_000

export const NOT_CONNECTED: NodeAnswer = {
  kind: 'fault',
  fault: 'not_connected',
  sent: false,
  detail: 'not connected',
}

export function openReconnectingSocket(options: ReconnectingSocketOptions): ReconnectingSocket {
  const { clock, dial, random } = options.ports
  const stop = new AbortController()
  let current: WrpcSocket | undefined
  let attempt = 0
  let openedAtMs: number | undefined

  function connect(): void {
    openedAtMs = undefined
    current = new WrpcSocket({
      url: options.url,
      dial,
      clock,
      onOpen: () => {
        openedAtMs = elapsedMs(clock)
        options.onUp?.()
      },
      onClose: (detail) => {
        const wasUp = openedAtMs !== undefined
        if (openedAtMs !== undefined && elapsedMs(clock) - openedAtMs >= STABLE_MS) attempt = 0
        if (wasUp && !stop.signal.aborted) options.onDown?.(detail)
        void reconnectLater()
      },
    })
  }

  async function reconnectLater(): Promise<void> {
    const waitMs = Math.max(MIN_WAIT_MS, backoffMs(RECONNECT, attempt++, random))
    try {
      await clock.sleep(waitMs, stop.signal)
    } catch {
      return
    }
    connect()
  }

  connect()
  return {
    get up() {
      return current?.state === 'open'
    },
    get inFlight() {
      return current?.inFlight ?? 0
    },
    get leaving() {
      return current?.leaving ?? 0
    },
    silentMs: (nowMs) => current?.silentMs(nowMs) ?? 0,
    ask(method, paramsText, timeoutMs, onAnswer) {
      if (current !== undefined) return current.ask(method, paramsText, timeoutMs, onAnswer)
      onAnswer(NOT_CONNECTED)
      return undefined
    },
    call: (method, paramsText, callOptions) =>
      current?.call(method, paramsText, callOptions) ?? Promise.resolve(NOT_CONNECTED),
    close() {
      stop.abort()
      current?.close()
    },
  }
}
