/** A small protocol and quick limits, to try the feed's own rules apart from any venue. */
import { systemClock } from '../../src/kit/clock.ts'
import type { Channel } from '../../src/venues/channel.ts'
import { createDeadLetters } from '../../src/venues/dead-letter.ts'
import { dialWebSocket } from '../../src/venues/live/dial-web-socket.ts'
import { type FrameProtocol, parseObject, refused } from '../../src/venues/live/frame.ts'
import { LIVE_LIMITS, type LiveLimits } from '../../src/venues/live/live-limits.ts'
import { type LiveSessionOptions, startLiveSession } from '../../src/venues/live/live-session.ts'
import type { Observation, TradeObservation } from '../../src/venues/observation.ts'
import type { LiveSession } from '../../src/venues/venue.ts'
import { endAfterTest } from './scripted-venue.ts'

export const BTC: Channel = { topic: 'trades', symbol: 'BTC' }
export const ETH: Channel = { topic: 'trades', symbol: 'ETH' }

export const frameOf = (id: number, symbol: 'BTC' | 'ETH' = 'BTC') => JSON.stringify({ id, symbol })

/** `{"id":1,"symbol":"BTC"}` is a trade; `{"bye":1}` announces a close; `{"pong":1}` answers a ping. */
export const toyProtocol: FrameProtocol = {
  accepts: false,
  heartbeat: null,
  greetingPaceMs: 0,
  read(text, receivedMs) {
    const message = parseObject(text) as
      | { id?: number; symbol?: 'BTC' | 'ETH'; bye?: 1; pong?: 1 }
      | undefined
    if (message === undefined) return refused('malformed')
    if (message.bye) return { kind: 'leaving' }
    if (message.pong) return { kind: 'pong' }
    if (message.id === undefined || message.symbol === undefined) return refused('unknown_kind')
    const observation: TradeObservation = {
      kind: 'trade',
      source: 'cexa',
      symbol: message.symbol,
      instrument: message.symbol,
      venueTimeMs: receivedMs,
      receivedMs,
      key: String(message.id),
      id: String(message.id),
      price: '1',
      size: '1',
      side: 'buy',
    }
    return { kind: 'data', items: [{ channel: `trades:${message.symbol}`, observation }] }
  },
}

export const QUICK: LiveLimits = {
  ...LIVE_LIMITS,
  socket: { openWithinMs: 1_000, trafficSilenceMs: 60_000, closeWithinMs: 200 },
  connection: {
    backoff: { baseMs: 20, capMs: 100 },
    steadyAfterMs: 1_000,
    renewSpread: 0,
    handoverMs: 400,
    overlapMs: 50,
  },
  replaceSilent: { baseMs: 40, capMs: 100 },
  dataSilenceFloorMs: 60_000,
}

export interface ToySession {
  readonly session: LiveSession
  /** All that was read so far. */
  readonly seen: Observation[]
  readonly deadLetters: LiveSessionOptions['deadLetters']
  ids(symbol?: 'BTC' | 'ETH'): number[]
  kinds(): string[]
  until(holds: () => boolean, withinMs?: number): Promise<void>
  close(): Promise<void>
}

export function listen(
  url: string,
  options: Partial<LiveSessionOptions> & { channels?: Channel[]; read?: boolean } = {},
): ToySession {
  const channels = options.channels ?? [BTC]
  const deadLetters = createDeadLetters({ venue: 'toy' })
  const session = startLiveSession({
    source: 'cexa',
    routes: [{ name: 'toy', url: `${url}/toy`, channels, greeting: [] }],
    polls: [],
    protocol: toyProtocol,
    silenceOf: () => null,
    renewAfterMs: null,
    clock: systemClock,
    random: Math.random,
    dial: dialWebSocket,
    deadLetters,
    limits: QUICK,
    signal: new AbortController().signal,
    ...options,
  })
  const seen: Observation[] = []
  const reading = (async () => {
    if (options.read === false) return
    for await (const observation of session) seen.push(observation)
  })()
  endAfterTest(() => session.close())
  return {
    session,
    seen,
    deadLetters,
    ids: (symbol = 'BTC') =>
      seen.flatMap((each) => (each.kind === 'trade' && each.symbol === symbol ? [Number(each.id)] : [])),
    kinds: () => seen.map((each) => each.kind).filter((kind) => kind !== 'trade'),
    async until(holds, withinMs = 60_000) {
      const endMs = Date.now() + withinMs
      while (!holds()) {
        if (Date.now() > endMs)
          throw new Error(`not within ${withinMs} ms; saw ${JSON.stringify(seen.slice(-5))}`)
        await systemClock.sleep(5)
      }
    },
    async close() {
      await session.close()
      await reading
    },
  }
}
