/** Starts the simulated exchanges on loopback ports. */
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import { startControlPort } from '../control/control-port.ts'
import { type BinanceLimits, startBinance } from './binance/venue.ts'
import { parseFault } from './parse-fault.ts'
import { tradeIdOf } from './perp/text.ts'
import { type PerpLimits, startPerp } from './perp/venue.ts'
import { createFaults, type Faults } from './server/faults.ts'
import type { VenueServer, VenueState } from './server/venue-server.ts'
import { askTruth, createTruth, type Truth } from './truth.ts'
import { VENUES, type Venue } from './world/markets.ts'
import { createWorld } from './world/world.ts'

export interface SandboxOptions {
  /** The same seed, rate and time give the same market, across restarts and machines. */
  seed: number
  clock?: Clock
  /** Per symbol and venue. Twelve markets: 1,667 makes 20,000 in total. */
  tradesPerSecond?: number
  /** 0 or left out: any free port. */
  ports?: Partial<Record<Venue | 'control', number>>
  /** How often the streams are served. */
  tickMs?: number
  /** Overrides of the venues' own limits, for tests that need narrower or wider ones. */
  limits?: { spot?: BinanceLimits; futures?: BinanceLimits; perp?: PerpLimits }
}

export interface VenueAddress {
  readonly restUrl: string
  /** Without a path: spot adds /ws or /stream, futures /market/… or /public/…, perp /ws. */
  readonly wsUrl: string
}

export interface SandboxExchanges {
  readonly spot: VenueAddress
  readonly futures: VenueAddress
  readonly perp: VenueAddress
  readonly controlUrl: string
  readonly faults: Faults
  readonly truth: Truth
  state(): Record<Venue, VenueState>
  close(): Promise<void>
}

const DEFAULT_TRADES_PER_SECOND = 3
const DEFAULT_TICK_MS = 50

export async function startSandboxExchanges(options: SandboxOptions): Promise<SandboxExchanges> {
  const clock = options.clock ?? systemClock
  const world = createWorld({
    seed: options.seed,
    tradesPerSecond: options.tradesPerSecond ?? DEFAULT_TRADES_PER_SECOND,
  })
  const faults = createFaults(clock)
  const truth = createTruth(world, (market, id) => tradeIdOf(options.seed, market, id))
  const common = { world, clock, faults, tickMs: options.tickMs ?? DEFAULT_TICK_MS }
  const port = (name: Venue | 'control') => options.ports?.[name] ?? 0
  const started: { close(): Promise<void> }[] = []
  const keep = <T extends { close(): Promise<void> }>(part: T): T => {
    started.push(part)
    return part
  }
  const closeAll = async () => void (await Promise.all(started.map((part) => part.close())))
  try {
    const servers: Record<Venue, VenueServer> = {
      spot: keep(
        await startBinance({
          ...common,
          product: 'spot',
          port: port('spot'),
          limits: options.limits?.spot ?? {},
        }),
      ),
      futures: keep(
        await startBinance({
          ...common,
          product: 'futures',
          port: port('futures'),
          limits: options.limits?.futures ?? {},
        }),
      ),
      perp: keep(await startPerp({ ...common, port: port('perp'), limits: options.limits?.perp ?? {} })),
    }
    const state = () =>
      Object.fromEntries(VENUES.map((venue) => [venue, servers[venue].state()])) as Record<Venue, VenueState>
    const about = () => ({ seed: world.seed, tradesPerSecond: world.tradesPerSecond, nowMs: clock.now() })
    const control = keep(
      await startControlPort({
        port: port('control'),
        faults,
        parseFault,
        askTruth: (what, query) => askTruth(truth, what, query),
        state: () => ({ ...about(), ...state() }),
      }),
    )
    const address = (venue: Venue): VenueAddress => ({
      restUrl: `http://127.0.0.1:${servers[venue].port}`,
      wsUrl: `ws://127.0.0.1:${servers[venue].port}`,
    })
    return {
      spot: address('spot'),
      futures: address('futures'),
      perp: address('perp'),
      controlUrl: `http://127.0.0.1:${control.port}`,
      faults,
      truth,
      state,
      close: closeAll,
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}
