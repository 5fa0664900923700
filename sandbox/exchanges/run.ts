/** Starts the simulated exchanges on loopback ports. */
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import { startAll } from '../server/announce.ts'
import { faultRoutes, startControlPort } from '../server/control-port.ts'
import { createFaults, EXCHANGE_FAULTS, type FaultSwitches } from '../server/faults.ts'
import { DEFAULT_TICK_MS } from '../server/ticks.ts'
import { type Listen, listenOnLoopback } from '../server/transport.ts'
import { type BinanceLimits, startBinance } from './binance/venue.ts'
import { type PerpLimits, startPerp } from './perp/venue.ts'
import type { VenueState } from './venue-server.ts'
import { EXCHANGE_VENUES, type ExchangeVenue } from './world/markets.ts'
import { createWorld, type World } from './world/world.ts'

export interface SandboxOptions {
  /** The same seed, rate and time give the same market, across restarts and machines. */
  seed: number
  clock?: Clock
  /**
   * Where the venues listen; loopback if omitted. If given, no control port opens, and the caller sets `faults`
   * directly.
   */
  listen?: Listen
  /** Per symbol and venue. There are twelve markets, so 1,667 makes 20,000 in total. */
  tradesPerSecond?: number
  /** For spot and futures: publishes a fill of size 0 after this many trades; never if omitted. */
  emptyFillEvery?: number
  /** So many minutes of every ten have no trade; none if omitted. */
  quietMinutes?: number
  /** 0 or omitted means any free port. */
  ports?: Partial<Record<ExchangeVenue | 'control', number>>
  /** How often the streams are served. */
  tickMs?: number
  /** Overrides of the venues' limits, for tests that need narrower or wider ones. */
  limits?: { spot?: BinanceLimits; futures?: BinanceLimits; perp?: PerpLimits }
}

interface VenueAddress {
  readonly restUrl: string
  /** Without a path: spot adds /stream, futures /market/stream or /public/stream, perp /ws. */
  readonly wsUrl: string
}

export interface SandboxExchanges extends Readonly<Record<ExchangeVenue, VenueAddress>> {
  /** Empty if the caller passed `listen`. */
  readonly controlUrl: string
  readonly faults: FaultSwitches
  readonly world: World
  state(): Record<ExchangeVenue, VenueState>
  close(): Promise<void>
}

const DEFAULT_TRADES_PER_SECOND = 3

export function startSandboxExchanges(options: SandboxOptions): Promise<SandboxExchanges> {
  const { seed, clock = systemClock, tradesPerSecond = DEFAULT_TRADES_PER_SECOND, limits = {} } = options
  const { emptyFillEvery, quietMinutes } = options
  const world = createWorld({ seed, tradesPerSecond, emptyFillEvery, quietMinutes })
  const faults = createFaults(clock)
  const { listen = listenOnLoopback, tickMs = DEFAULT_TICK_MS } = options
  const common = { world, clock, faults, listen, tickMs }
  const port = (name: ExchangeVenue | 'control') => options.ports?.[name] ?? 0
  const urls = (at: { port: number }) => ({
    restUrl: `http://127.0.0.1:${at.port}`,
    wsUrl: `ws://127.0.0.1:${at.port}`,
  })
  return startAll(async (keep) => {
    const servers = {
      spot: keep(await startBinance('spot', { ...common, port: port('spot'), limits: limits.spot ?? {} })),
      futures: keep(
        await startBinance('futures', { ...common, port: port('futures'), limits: limits.futures ?? {} }),
      ),
      perp: keep(await startPerp({ ...common, port: port('perp'), limits: limits.perp ?? {} })),
    }
    const state = () =>
      Object.fromEntries(EXCHANGE_VENUES.map((venue) => [venue, servers[venue].state()])) as Record<
        ExchangeVenue,
        VenueState
      >
    const openControl = () =>
      startControlPort(port('control'), {
        ...faultRoutes(faults, { kinds: EXCHANGE_FAULTS, venues: EXCHANGE_VENUES }),
        'GET /state': () => ({ seed, tradesPerSecond, nowMs: clock.now(), ...state() }),
      })
    const controlUrl = options.listen === undefined ? urls(keep(await openControl())).restUrl : ''
    return {
      spot: urls(servers.spot),
      futures: urls(servers.futures),
      perp: urls(servers.perp),
      controlUrl,
      faults,
      world,
      state,
    }
  })
}
