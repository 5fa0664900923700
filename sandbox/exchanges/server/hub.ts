/**
 * Who listens to what on one venue, and the loop that turns the passing of time into frames:
 *
 *   every tick:  for each stream somebody listens to ─▶ its producer (from, to] ─▶ faults ─▶ listeners
 *
 * A stream nobody listens to costs nothing.
 */
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import type { Clock } from '../../../src/kit/clock.ts'
import type { Venue } from '../world/markets.ts'
import type { Faults } from './faults.ts'
import { createFrameFaults, type Frame } from './frame-faults.ts'

export interface Listener {
  deliver(frame: Frame): void
  /** Between the two, frames wait for each other and leave together: many frames a tick, few packets. */
  hold(): void
  release(): void
}

export interface Producer {
  readonly symbol?: AssetSymbol
  readonly channel: string
  /** Publishes what happened after fromMs up to and including toMs, in venue time. */
  produce(fromMs: number, toMs: number, publish: (frame: Frame) => void): void
}

export interface Hub {
  add(stream: string, listener: Listener): void
  remove(stream: string, listener: Listener): void
  removeAll(listener: Listener): void
  /** Frames delivered to sockets so far. */
  delivered(): number
  streams(): string[]
  start(): void
}

/** After a longer stall (or jump of the clock) the venue resumes at the present instead of catching up. */
const MAX_CATCH_UP_MS = 600_000

export function createHub(options: {
  venue: Venue
  clock: Clock
  faults: Faults
  signal: AbortSignal
  tickMs: number
  venueNow: () => number
  /** How old an event is when the venue tells it. */
  latencyMs: number
  /** undefined for a stream that does not exist: acknowledged by the venue, then silent for ever. */
  open: (stream: string) => Producer | undefined
}): Hub {
  const { clock, signal, venueNow } = options
  const live = new Map<string, { producer: Producer; listeners: Set<Listener> }>()
  let delivered = 0

  const publish = createFrameFaults({
    venue: options.venue,
    faults: options.faults,
    clock,
    signal,
    deliver(frame) {
      for (const listener of live.get(frame.stream)?.listeners ?? []) {
        delivered++
        listener.deliver(frame)
      }
    },
  })

  async function run(): Promise<void> {
    let doneMs = venueNow() - options.latencyMs
    while (!signal.aborted) {
      await clock.sleep(options.tickMs, signal)
      const nowMs = venueNow() - options.latencyMs
      // A clock set back: wait until time reaches the old mark, so that nothing is told twice.
      if (nowMs <= doneMs) continue
      const fromMs = Math.max(doneMs, nowMs - MAX_CATCH_UP_MS)
      const streams = [...live.values()]
      const held = new Set(streams.flatMap(({ listeners }) => [...listeners]))
      for (const listener of held) listener.hold()
      for (const { producer } of streams) producer.produce(fromMs, nowMs, publish)
      for (const listener of held) listener.release()
      doneMs = nowMs
    }
  }

  return {
    add(stream, listener) {
      const known = live.get(stream)
      if (known !== undefined) return void known.listeners.add(listener)
      const producer = options.open(stream)
      if (producer !== undefined) live.set(stream, { producer, listeners: new Set([listener]) })
    },
    remove: removeListener,
    removeAll(listener) {
      for (const stream of [...live.keys()]) removeListener(stream, listener)
    },
    delivered: () => delivered,
    streams: () => [...live.keys()],
    start() {
      run().catch((error: unknown) => {
        // A producer that throws is a fault of the sandbox itself: it must end loudly, not fall silent.
        if (!signal.aborted) throw error
      })
    },
  }

  function removeListener(stream: string, listener: Listener): void {
    const known = live.get(stream)
    if (known === undefined) return
    known.listeners.delete(listener)
    if (known.listeners.size === 0) live.delete(stream)
  }
}
