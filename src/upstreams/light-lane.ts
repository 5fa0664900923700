/** The light sockets of one node: a small set, each pipelined; a call takes the one with the least waiting. */
import type { Clock } from '../kit/clock.ts'
import { type KeptSocket, keepSocket } from './kept-socket.ts'
import type { WireAnswer, WireCallOptions } from './wrpc.ts'

export interface LightLane {
  look(): LaneLook
  call(method: string, paramsText: string, options: WireCallOptions): Promise<WireAnswer>
  close(): void
}

export interface LaneLook {
  readonly up: boolean
  readonly inFlight: number
  /** The longest time a socket has been silent while a call waits on it. */
  readonly silentMs: number
}

export interface LightLaneOptions {
  url: string
  sockets: number
  clock: Clock
  /** The first socket opened, or the last one was lost. */
  onChange: () => void
}

export function openLightLane(options: LightLaneOptions): LightLane {
  const sockets: KeptSocket[] = Array.from({ length: options.sockets }, () =>
    keepSocket({ url: options.url, clock: options.clock, onUp: options.onChange, onDown: options.onChange }),
  )
  return {
    look() {
      const nowMs = performance.now()
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
    call(method, paramsText, callOptions) {
      let best: KeptSocket | undefined
      for (const socket of sockets) {
        if (socket.up && (best === undefined || socket.inFlight < best.inFlight)) best = socket
      }
      if (best !== undefined) return best.call(method, paramsText, callOptions)
      return Promise.resolve({ kind: 'fault', fault: 'not_connected', sent: false, detail: 'not connected' })
    },
    close() {
      for (const socket of sockets) socket.close()
    },
  }
}
