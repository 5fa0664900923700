/**
 * The light sockets of one node: a small set, each pipelined. Calls made in one turn of the event loop go to the same
 * socket, because they leave in one write; otherwise a call goes to the socket with the fewest open calls.
 */
import { elapsedMs } from '../kit/clock.ts'
import type { NodePorts } from './node-ports.ts'
import type { OnAnswer, PendingCall } from './open-calls.ts'
import { NOT_CONNECTED, openReconnectingSocket, type ReconnectingSocket } from './reconnecting-socket.ts'

interface LightLoad {
  readonly up: boolean
  readonly inFlight: number
  /** The longest time that any socket has been silent while calls wait on it. */
  readonly silentMs: number
}

export interface LightConnectionsOptions {
  url: string
  sockets: number
  ports: NodePorts
  /** Called whenever a socket opens or is lost. */
  onChange: () => void
}

/** The node serves a socket in order, so calls beyond this number are better spread over several sockets. */
const MAX_TOGETHER = 32

export function openLightConnections(options: LightConnectionsOptions) {
  const sockets: ReconnectingSocket[] = Array.from({ length: options.sockets }, () =>
    openReconnectingSocket({
      url: options.url,
      ports: options.ports,
      onUp: options.onChange,
      onDown: options.onChange,
    }),
  )

  function pick(): ReconnectingSocket | undefined {
    let best: ReconnectingSocket | undefined
    for (const socket of sockets) {
      if (!socket.up) continue
      const { leaving } = socket
      if (leaving > 0 && leaving < MAX_TOGETHER) return socket
      if (best === undefined || socket.inFlight < best.inFlight) best = socket
    }
    return best
  }

  return {
    load(): LightLoad {
      const nowMs = elapsedMs(options.ports.clock)
      let up = false
      let inFlight = 0
      let silentMs = 0
      for (const socket of sockets) {
        if (!socket.up) continue
        up = true
        const waiting = socket.inFlight
        if (waiting === 0) continue
        inFlight += waiting
        silentMs = Math.max(silentMs, socket.silentMs(nowMs))
      }
      return { up, inFlight, silentMs }
    },
    ask(method: string, paramsText: string, timeoutMs: number, onAnswer: OnAnswer): PendingCall | undefined {
      const socket = pick()
      if (socket !== undefined) return socket.ask(method, paramsText, timeoutMs, onAnswer)
      onAnswer(NOT_CONNECTED)
      return undefined
    },
    close(): void {
      for (const socket of sockets) socket.close()
    },
  }
}
