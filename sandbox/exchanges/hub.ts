/**
 * The subscriptions on one venue, and what each tick publishes:
 *
 *   every tick:  for each stream with a subscriber ─▶ its producer (from, to] ─▶ faults ─▶ its sockets
 *
 * A stream without a subscriber costs nothing.
 */
import type { Clock } from '../../src/kit/clock.ts'
import type { Fault, FaultSwitches } from '../server/faults.ts'
import { createFrameFaults, type VenueFrame } from '../server/frame-faults.ts'
import type { VenueSocket } from '../server/sockets.ts'
import type { ExchangeVenue } from './world/markets.ts'

export interface StreamFrame extends VenueFrame {
  /** The name that clients subscribe to. */
  readonly stream: string
}

/** Publishes what happened after fromMs up to and including toMs, in venue time. */
export type Producer = (fromMs: number, toMs: number, publish: (frame: StreamFrame) => void) => void

/** The streams of one socket. */
interface Subscriber {
  /** All subscribed names, including streams that do not exist. */
  readonly streams: Set<string>
  subscribe(stream: string): void
  unsubscribe(stream: string): void
  /** Sends a frame to this socket alone, such as a replay. A muted symbol stays silent here, too. */
  deliverAlone(frame: StreamFrame): void
  isConcerned(drop: Fault): boolean
  end(): void
}

export type Hub = ReturnType<typeof createHub>

interface Listener {
  readonly socket: VenueSocket
  readonly render: (frame: StreamFrame) => string
}

export function createHub(options: {
  venue: ExchangeVenue
  clock: Clock
  faults: FaultSwitches
  signal: AbortSignal
  /** Returns undefined for a stream that does not exist; the venue acknowledges it and never sends anything. */
  open: (stream: string) => Producer | undefined
}) {
  const { venue, faults } = options
  const live = new Map<string, { producer: Producer; listeners: Set<Listener> }>()

  const deliver = ({ socket, render }: Listener, frame: StreamFrame) =>
    socket.sendData({ text: render(frame), isBroken: frame.isBroken === true })
  const publish = createFrameFaults<StreamFrame>({
    ...options,
    unknownText: JSON.stringify({ e: 'noveltyUpdate', channel: 'novelty', data: {} }),
    deliver(frame) {
      for (const listener of live.get(frame.stream)?.listeners ?? []) deliver(listener, frame)
    },
  })

  const publishListed = (frame: StreamFrame) => {
    if (faults.hit('delisted', venue, frame) === undefined) publish(frame)
  }

  function add(stream: string, listener: Listener): void {
    const known = live.get(stream)
    if (known !== undefined) return void known.listeners.add(listener)
    const producer = options.open(stream)
    if (producer !== undefined) live.set(stream, { producer, listeners: new Set([listener]) })
  }

  function remove(stream: string, listener: Listener): void {
    const known = live.get(stream)
    known?.listeners.delete(listener)
    if (known?.listeners.size === 0) live.delete(stream)
  }

  return {
    /** `render` wraps a frame for the socket. */
    connect(socket: VenueSocket, render: (frame: StreamFrame) => string): Subscriber {
      const listener: Listener = { socket, render }
      const streams = new Set<string>()
      return {
        streams,
        subscribe(stream) {
          streams.add(stream)
          const isDropped = faults
            .list()
            .some((fault) => fault.kind === 'drop' && fault.venue === venue && matches(fault, stream))
          if (isDropped) socket.cut()
          else add(stream, listener)
        },
        unsubscribe(stream) {
          streams.delete(stream)
          remove(stream, listener)
        },
        deliverAlone(frame) {
          if (faults.hit('mute', venue, frame) === undefined) deliver(listener, frame)
        },
        isConcerned: (drop) => matches(drop, '') || [...streams].some((stream) => matches(drop, stream)),
        end() {
          for (const stream of streams) remove(stream, listener)
        },
      }
    },
    produce(fromMs: number, toMs: number) {
      for (const { producer } of live.values()) producer(fromMs, toMs, publishListed)
    },
    streams: (): string[] => [...live.keys()],
  }
}

/** A drop without symbol and channel concerns every socket; otherwise only sockets with such a stream. */
function matches(drop: Fault, stream: string): boolean {
  if (drop.channel === 'rest') return false
  if (drop.symbol === undefined && drop.channel === undefined) return true
  if (stream === '') return false
  const [about = '', channel = ''] = stream.split('@')
  const isSymbol = drop.symbol === undefined || about.toUpperCase().startsWith(drop.symbol)
  const name = channel.replace(/_.*$/, '')
  return isSymbol && (drop.channel === undefined || name === drop.channel)
}
