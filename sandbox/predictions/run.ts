/** Starts the simulated prediction venues and the simulated chain on loopback ports. */
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import { startAll } from '../server/announce.ts'
import { faultRoutes, startControlPort } from '../server/control-port.ts'
import { createFaults, type FaultSwitches, PREDICTION_FAULTS } from '../server/faults.ts'
import { answersOf, type RestService } from '../server/service.ts'
import type { Sockets } from '../server/sockets.ts'
import { DEFAULT_TICK_MS } from '../server/ticks.ts'
import { type Listen, listenOnLoopback } from '../server/transport.ts'
import { createProvider } from './ethereum/provider.ts'
import { createKalshiRest, ROOT } from './kalshi/rest.ts'
import { createAccount, createSignatureCheck, type KalshiAccount } from './kalshi/sign.ts'
import { createKalshiSocket, SOCKET_PATH } from './kalshi/socket.ts'
import { createClob } from './polymarket/clob.ts'
import { createData } from './polymarket/data.ts'
import { createGamma } from './polymarket/gamma.ts'
import { createMarketSocket } from './polymarket/market-socket.ts'
import { createRtds } from './polymarket/rtds.ts'
import { PREDICTION_VENUES, type PredictionVenue } from './venue.ts'
import { CHAIN } from './world/rounds.ts'
import { createPredictionWorld, type PredictionWorld } from './world/venue-world.ts'

export const PREDICTION_PORTS = ['gamma', 'clob', 'data', 'ws', 'rtds', 'kalshi', 'ethereum'] as const
type PortName = (typeof PREDICTION_PORTS)[number] | 'control'

export interface SandboxPredictionsOptions {
  /** With the same seed as the sandbox exchanges, the spot price is the same. */
  seed: number
  clock?: Clock
  /**
   * Where the venues listen; loopback if omitted. If given, no control port opens, and the caller sets `faults`
   * directly.
   */
  listen?: Listen
  /** The same value as for the sandbox exchanges, whose candles settle the hourly and daily questions. */
  tradesPerSecond?: number
  /** Time between book changes in the running 5m and 15m markets. */
  slotMs?: number
  /** Rounds before a feed moves to its next phase and aggregator. */
  phaseRounds?: number
  providers?: number
  /** Contracts per hourly or daily event of the second venue. */
  strikes?: number
  /** How long before its window a market may be listed; a day if omitted. A smaller value makes a smaller world. */
  aheadMs?: number
  /** The share of Up/Down windows that nobody wins; none if omitted. */
  splitShare?: number
  /** Whether contracts of the second venue may be paused, and may close earlier or later than first listed. */
  isChanging?: boolean
  /** From this time on, lists may leave out running markets for some minutes; never if omitted. */
  unlistedFromMs?: number
  /** The share of the first venue's trades that are several fills of one transaction; none if omitted. */
  filledShare?: number
  /** Whether trade frames of the second venue carry numbers, as they do if omitted. */
  areTradesNumbered?: boolean
  /** Windows that start at or after this time use the venue's second protocol. */
  v2FromMs?: number
  /** A public key (PEM) to accept instead of a generated account. */
  kalshiAccount?: { keyId: string; publicKey: string }
  signatureToleranceMs?: number
  /** 0 or omitted means any free port. Providers use consecutive ports from `ethereum` on. */
  ports?: Partial<Record<PortName, number>>
  /** How often the streams are served. */
  tickMs?: number
  /** Multiplies the venues' request budgets, for fast clocks and for tests of the limits. */
  budgetScale?: number
  maxConnections?: number
}

export interface SandboxPredictions {
  readonly polymarket: Readonly<Record<'gammaUrl' | 'clobUrl' | 'dataUrl' | 'wsUrl' | 'rtdsUrl', string>>
  readonly kalshi: { readonly restUrl: string; readonly wsUrl: string } & KalshiAccount
  readonly ethereum: { readonly urls: readonly string[]; readonly proxies: Readonly<Record<string, string>> }
  /** Empty if the caller passed `listen`. */
  readonly controlUrl: string
  readonly faults: FaultSwitches
  readonly world: PredictionWorld
  state(): Record<string, unknown>
  close(): Promise<void>
}

const DEFAULT_TRADES_PER_SECOND = 3
const DEFAULT_SLOT_MS = 100
const DEFAULT_PROVIDERS = 3
const DEFAULT_TOLERANCE_MS = 30_000
const DEFAULT_MAX_CONNECTIONS = 10
const KALSHI_TOKENS_PER_SECOND = 200
const SANDBOX_KEY_ID = '5a4d0b0c-7a1e-4b0e-9d4a-000000000001'

const NO_REST: RestService = {
  venue: 'polymarket',
  name: 'ws',
  handle: () => ({ status: 426, body: 'Upgrade Required' }),
  refuse: (status) => ({ status, body: '' }),
}

export function startSandboxPredictions(options: SandboxPredictionsOptions): Promise<SandboxPredictions> {
  const { clock = systemClock, listen = listenOnLoopback } = options
  const { budgetScale = 1, providers = DEFAULT_PROVIDERS } = options
  const world = createPredictionWorld({
    seed: options.seed,
    tradesPerSecond: options.tradesPerSecond ?? DEFAULT_TRADES_PER_SECOND,
    slotMs: options.slotMs ?? DEFAULT_SLOT_MS,
    ...(options.phaseRounds === undefined ? {} : { phaseRounds: options.phaseRounds }),
    ...(options.v2FromMs === undefined ? {} : { v2FromMs: options.v2FromMs }),
    ...(options.strikes === undefined ? {} : { strikes: options.strikes }),
    ...(options.aheadMs === undefined ? {} : { aheadMs: options.aheadMs }),
    ...(options.splitShare === undefined ? {} : { splitShare: options.splitShare }),
    ...(options.isChanging === undefined ? {} : { isChanging: options.isChanging }),
    ...(options.unlistedFromMs === undefined ? {} : { unlistedFromMs: options.unlistedFromMs }),
    ...(options.filledShare === undefined ? {} : { filledShare: options.filledShare }),
  })
  const faults = createFaults(clock)
  const venueOf = (name: (typeof PREDICTION_VENUES)[number]): PredictionVenue => ({
    world,
    faults,
    now: () => Math.floor(clock.now() + faults.skewMs(name)),
  })
  const [polymarket, kalshi, ethereum] = PREDICTION_VENUES.map(venueOf) as [
    PredictionVenue,
    PredictionVenue,
    PredictionVenue,
  ]
  const account: KalshiAccount = options.kalshiAccount ?? createAccount(SANDBOX_KEY_ID)
  const toleranceMs = options.signatureToleranceMs ?? DEFAULT_TOLERANCE_MS
  const check = createSignatureCheck({ account, now: kalshi.now, toleranceMs })

  return startAll(async (keep) => {
    const abort = new AbortController()
    keep({ close: async () => abort.abort() })
    const streaming = {
      clock,
      signal: abort.signal,
      tickMs: options.tickMs ?? DEFAULT_TICK_MS,
      maxConnections: options.maxConnections ?? DEFAULT_MAX_CONNECTIONS,
    }
    const sockets = {
      ws: keep(createMarketSocket({ ...streaming, venue: polymarket })),
      rtds: keep(createRtds({ ...streaming, venue: polymarket })),
      kalshi: keep(
        createKalshiSocket({
          ...{ ...streaming, venue: kalshi, check },
          areTradesNumbered: options.areTradesNumbered ?? true,
        }),
      ),
    }
    const port = (name: PortName) => options.ports?.[name] ?? 0
    const serve = async (service: RestService, at: number, stream?: Sockets): Promise<string> => {
      const { now } = { polymarket, kalshi, ethereum }[service.venue as (typeof PREDICTION_VENUES)[number]]
      const endpoint = {
        answer: answersOf({ service, faults, now }),
        ...(stream === undefined ? {} : { upgrade: stream.upgrade }),
      }
      return `127.0.0.1:${keep(await listen(endpoint, at)).port}`
    }
    const tokensPerSecond = KALSHI_TOKENS_PER_SECOND * budgetScale
    const hosts = {
      gamma: await serve(createGamma(polymarket, budgetScale), port('gamma')),
      clob: await serve(createClob(polymarket, budgetScale), port('clob')),
      data: await serve(createData(polymarket, budgetScale), port('data')),
      ws: await serve(NO_REST, port('ws'), sockets.ws),
      rtds: await serve(NO_REST, port('rtds'), sockets.rtds),
      kalshi: await serve(
        createKalshiRest(kalshi, { check, tokensPerSecond }),
        port('kalshi'),
        sockets.kalshi,
      ),
    }
    const urls: string[] = []
    for (let provider = 0; provider < providers; provider++) {
      const service = createProvider({ rounds: world.rounds, faults, now: ethereum.now, provider })
      const first = port('ethereum')
      urls.push(`http://${await serve(service, first === 0 ? 0 : first + provider)}`)
    }
    const state = () => ({
      nowMs: Math.floor(clock.now()),
      polymarket: { ...sockets.ws.state(), tokens: sockets.ws.tokens() },
      rtds: sockets.rtds.state(),
      kalshi: sockets.kalshi.state(),
    })
    const openControl = () =>
      startControlPort(port('control'), {
        ...faultRoutes(faults, { kinds: PREDICTION_FAULTS, venues: PREDICTION_VENUES }),
        'GET /state': state,
      })
    const controlUrl =
      options.listen === undefined ? `http://127.0.0.1:${keep(await openControl()).port}` : ''
    return {
      polymarket: {
        gammaUrl: `http://${hosts.gamma}`,
        clobUrl: `http://${hosts.clob}`,
        dataUrl: `http://${hosts.data}`,
        wsUrl: `ws://${hosts.ws}/ws/market`,
        rtdsUrl: `ws://${hosts.rtds}/`,
      },
      kalshi: {
        restUrl: `http://${hosts.kalshi}${ROOT}`,
        wsUrl: `ws://${hosts.kalshi}${SOCKET_PATH}`,
        ...account,
      },
      ethereum: { urls, proxies: CHAIN.proxies },
      controlUrl,
      faults,
      world,
      state,
    }
  })
}
