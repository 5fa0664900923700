/**
 * When a recorder that has a key polls its books nevertheless: from the moment the venue refuses a socket with 401
 * until a socket opens. A key is refused because of a fault or because clocks differ, and other faults may keep the
 * next socket from opening, so these times are taken from the sockets, not from the schedule.
 */
import type { Dial } from '../../src/venues/venue.ts'
import type { VirtualTime } from './virtual-time.ts'

const UNAUTHORIZED = 401
/** Rows are written at the next point of the grid, according to a clock that may be some seconds off. */
const AROUND_MS = 5_000

export function watchPolling(time: Pick<VirtualTime, 'nowMs'>) {
  const polled: { readonly fromMs: number; toMs: number }[] = []
  const isPolling = () => polled.at(-1)?.toMs === Number.POSITIVE_INFINITY
  function end(): void {
    const last = polled.at(-1)
    if (last !== undefined && isPolling()) last.toMs = time.nowMs
  }
  return {
    /** Called for the only socket of a recorder that starts now: it begins without polling. */
    through(dial: Dial): Dial {
      end()
      let serving: ReturnType<Dial> | undefined
      return (url, headers) => {
        const socket = dial(url, headers)
        socket.on('open', () => {
          serving = socket
          end()
        })
        socket.on('unexpected-response', (_request, { statusCode }) => {
          // If it was to replace an open socket, that socket stays in use.
          const isServed = serving !== undefined && serving.readyState === serving.OPEN
          if (statusCode === UNAUTHORIZED && !isServed && !isPolling())
            polled.push({ fromMs: time.nowMs, toMs: Number.POSITIVE_INFINITY })
        })
        return socket
      }
    },
    isPolledAt: (atMs: number): boolean =>
      polled.some(({ fromMs, toMs }) => fromMs - AROUND_MS <= atMs && atMs < toMs + AROUND_MS),
  }
}
