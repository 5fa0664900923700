/** Starts the simulated prediction venues and the simulated chain on loopback ports. */
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import { startControlPort } from '../control/control-port.ts'
import { createProvider } from './ethereum/rpc.ts'
import { createKalshiRest, ROOT } from './kalshi/rest.ts'
import { createAccount, createSignatureCheck, type KalshiAccount } from './kalshi/sign.ts'
import { createKalshiSocket, SOCKET_PATH } from './kalshi/socket.ts'
import { parseFault } from './parse-fault.ts'
import { createClob } from './polymarket/clob.ts'
import { createData } from './polymarket/data.ts'
import { createGamma } from './polymarket/gamma.ts'
import { createMarketSocket } from './polymarket/market-socket.ts'
import { createRtds } from './polymarket/rtds.ts'
import { createFaults, type Faults, type Venue } from './server/faults.ts'
import { type HttpServer, type Service, startService } from './server/http.ts'
import type { SocketServer } from './server/sockets.ts'
import { askTruth, createTruth, type Truth } from './truth.ts'
import type { Chain } from './world/rounds.ts'
import { createPredictionWorld } from './world/venue-world.ts'

export type PortName = 'gamma' | 'clob' | 'data' | 'ws' | 'rtds' | 'kalshi' | 'control'

export interface SandboxPredictionsOptions {
  /** The same seed as the sandbox exchanges gives the same spot price. */
  seed: number
  clock?: Clock
  /** As given to the sandbox exchanges; their candles settle the hourly and daily questions. */
  tradesPerSecond?: number
  /** Time between book changes in the running 5m and 15m markets. */
  slotMs?: number
  chain?: Chain
  /** Rounds before a feed moves to its next phase and aggregator. */
  phaseRounds?: number
  providers?: number
  /** Windows that start at or after this time are of the venue's second protocol. */
  v2FromMs?: number
  /** A public key (PEM) to accept instead of a generated account. */
  kalshiAccount?: { keyId: string; publicKey: string }
  signatureToleranceMs?: number
  /** 0 or left out: any free port. Providers take ports from `ethereum` on. */
  ports?: Partial<Record<PortName | 'ethereum', number>>
  /** How often the streams are served. */
  tickMs?: number
  /** Multiplies the venues' request budgets, for fast clocks and for tests of the limits. */
  budgetScale?: number
  maxConnections?: number
}

export interface SandboxPredictions {
  readonly polymarket: {
    readonly gammaUrl: string
    readonly clobUrl: string
    readonly dataUrl: string
    readonly wsUrl: string
    readonly rtdsUrl: string
  }
  readonly kalshi: { readonly restUrl: string; readonly wsUrl: string } & KalshiAccount
  readonly ethereum: { readonly urls: readonly string[]; readonly proxies: Readonly<Record<string, string>> }
  readonly controlUrl: string
  readonly faults: Faults
  readonly truth: Truth
  state(): Record<string, unknown>
  close(): Promise<void>
}

const DEFAULTS = {
  tradesPerSecond: 3,
  slotMs: 100,
  providers: 3,
  tickMs: 50,
  toleranceMs: 30_000,
  maxConnections: 10,
}
const KALSHI_TOKENS_PER_SECOND = 200
const SANDBOX_KEY_ID = '5a4d0b0c-7a1e-4b0e-9d4a-000000000001'

export async function startSandboxPredictions(
  options: SandboxPredictionsOptions,
): Promise<SandboxPredictions> {
  const clock = options.clock ?? systemClock
  const chain = options.chain ?? 'polygon'
  const world = createPredictionWorld({
    seed: options.seed,
    tradesPerSecond: options.tradesPerSecond ?? DEFAULTS.tradesPerSecond,
    slotMs: options.slotMs ?? DEFAULTS.slotMs,
    chain,
    ...(options.phaseRounds === undefined ? {} : { phaseRounds: options.phaseRounds }),
    ...(options.v2FromMs === undefined ? {} : { v2FromMs: options.v2FromMs }),
  })
  const faults = createFaults(clock)
  const truth = createTruth(world)
  /** Each venue has a clock of its own, which a fault may move. */
  const nowOf = (name: Venue) => () => Math.floor(clock.now() + faults.skewMs(name))
  const polymarket = { world, faults, now: nowOf('polymarket') }
  const kalshiVenue = { world, faults, now: nowOf('kalshi') }
  const scale = options.budgetScale ?? 1
  const account: KalshiAccount = options.kalshiAccount ?? createAccount(SANDBOX_KEY_ID)
  const check = createSignatureCheck({
    account,
    now: kalshiVenue.now,
    toleranceMs: options.signatureToleranceMs ?? DEFAULTS.toleranceMs,
  })

  const abort = new AbortController()
  const streaming = {
    clock,
    signal: abort.signal,
    tickMs: options.tickMs ?? DEFAULTS.tickMs,
    maxConnections: options.maxConnections ?? DEFAULTS.maxConnections,
  }
  const sockets = {
    ws: createMarketSocket({ ...streaming, venue: polymarket }),
    rtds: createRtds({ ...streaming, venue: polymarket }),
    kalshi: createKalshiSocket({ ...streaming, venue: kalshiVenue, check }),
  }
  const started: { close(): Promise<void> }[] = Object.values(sockets)
  const closeAll = async () => {
    abort.abort()
    await Promise.all(started.map((part) => part.close()))
  }
  const serve = async (service: Service, port: number, stream?: SocketServer): Promise<HttpServer> => {
    const server = await startService({
      service,
      port,
      faults,
      ...(stream === undefined ? {} : { upgrade: stream.upgrade }),
    })
    started.push(server)
    return server
  }
  const port = (name: PortName) => options.ports?.[name] ?? 0
  const streamOnly: Service = {
    venue: 'polymarket',
    name: 'ws',
    handle: () => ({ status: 426, body: 'Upgrade Required' }),
    refuse: (status) => ({ status, body: '' }),
  }

  try {
    const gamma = await serve(createGamma(polymarket, scale), port('gamma'))
    const clob = await serve(createClob(polymarket, scale), port('clob'))
    const data = await serve(createData(polymarket, scale), port('data'))
    const ws = await serve(streamOnly, port('ws'), sockets.ws)
    const rtds = await serve(streamOnly, port('rtds'), sockets.rtds)
    const rest = createKalshiRest(kalshiVenue, { check, tokensPerSecond: KALSHI_TOKENS_PER_SECOND * scale })
    const kalshi = await serve(rest, port('kalshi'), sockets.kalshi)
    const urls: string[] = []
    for (let provider = 0; provider < (options.providers ?? DEFAULTS.providers); provider++) {
      const first = options.ports?.ethereum ?? 0
      const service = createProvider({ rounds: world.rounds, faults, now: nowOf('ethereum'), provider })
      const server = await serve(service, first === 0 ? 0 : first + provider)
      urls.push(`http://127.0.0.1:${server.port}`)
    }
    const stateOf = (stream: SocketServer) => ({
      connections: stream.count(),
      connectionsOpened: stream.opened(),
      framesDelivered: stream.frames(),
    })
    const state = () => ({
      nowMs: Math.floor(clock.now()),
      polymarket: { ...stateOf(sockets.ws), tokens: sockets.ws.tokens() },
      rtds: stateOf(sockets.rtds),
      kalshi: stateOf(sockets.kalshi),
    })
    const control = await startControlPort({
      port: port('control'),
      faults,
      parseFault,
      askTruth: (what, query) => askTruth(truth, what, query),
      state,
    })
    started.push(control)
    const http = (server: { port: number }) => `http://127.0.0.1:${server.port}`
    const socket = (server: { port: number }) => `ws://127.0.0.1:${server.port}`
    return {
      polymarket: {
        gammaUrl: http(gamma),
        clobUrl: http(clob),
        dataUrl: http(data),
        wsUrl: `${socket(ws)}/ws/market`,
        rtdsUrl: `${socket(rtds)}/`,
      },
      kalshi: { restUrl: `${http(kalshi)}${ROOT}`, wsUrl: `${socket(kalshi)}${SOCKET_PATH}`, ...account },
      ethereum: { urls, proxies: world.rounds.facts.proxies as Record<string, string> },
      controlUrl: http(control),
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
