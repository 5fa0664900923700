/** One node as the rest of the folder sees it: its connections, its breaker, how long its calls take. */
import { type Breaker, type BreakerPolicy, createBreaker } from '../kit/breaker.ts'
import { createQuantileWindow, type QuantileWindow } from '../kit/quantile-window.ts'
import type { NodeCandidate, NodeTier } from './choose.ts'
import type { NodeHealth } from './health.ts'
import type { HeavyCalls } from './heavy-connections.ts'
import { openLightConnections } from './light-connections.ts'
import type { ConnectionKind, RpcMethod } from './methods.ts'
import type { NodePorts } from './node-ports.ts'
import { faultAnswer, type OnAnswer, type PendingCall } from './open-calls.ts'

export interface NodeAddress {
  readonly name: string
  readonly url: string
  readonly tier: NodeTier
}

export interface NodeLink {
  readonly name: string
  readonly tier: NodeTier
  readonly breaker: Breaker
  view(connection: ConnectionKind): NodeCandidate
  /** See `WrpcSocket.ask`; the time limit is the method's own. */
  ask(method: RpcMethod, paramsText: string, onAnswer: OnAnswer): PendingCall | undefined
  /** `lost`: it took at least this long, then another node was faster. */
  took(method: RpcMethod, ms: number, lost: boolean): void
  /** A probe came back: an idle node that was slow once gets fast again. */
  probed(ms: number): void
  /** How long this method took on this node lately. */
  latency(method: RpcMethod): QuantileWindow
  close(): void
}

export interface NodeLinkOptions {
  address: NodeAddress
  ports: NodePorts
  heavy: HeavyCalls
  lightSockets: number
  breaker: BreakerPolicy
  health: () => NodeHealth
  onChange: () => void
}

const LATENCY_SAMPLES = 128
const MIN_SAMPLES = 8
/** Weight of the newest sample in the average that orders nodes. */
const AVERAGE_WEIGHT = 0.1

/** One reason for all: an abort without one builds an exception with a stack each time. */
const CANCELLED = new Error('the call is over')

export function linkNode(options: NodeLinkOptions): NodeLink {
  const { address, heavy } = options
  const light = openLightConnections({
    url: address.url,
    sockets: options.lightSockets,
    ports: options.ports,
    onChange: options.onChange,
  })
  const breaker = createBreaker(options.breaker, options.ports.clock)
  const windows = new Map<string, QuantileWindow>()
  let averageMs = 0

  function average(ms: number): void {
    averageMs += (ms - averageMs) * AVERAGE_WEIGHT
  }

  function latency(method: RpcMethod): QuantileWindow {
    let window = windows.get(method.name)
    if (window === undefined) {
      window = createQuantileWindow(LATENCY_SAMPLES, MIN_SAMPLES)
      windows.set(method.name, window)
    }
    return window
  }

  function askHeavy(method: RpcMethod, paramsText: string, onAnswer: OnAnswer): PendingCall {
    const stop = new AbortController()
    const { timeoutMs } = method
    heavy
      .call(address.name, method.name, paramsText, { timeoutMs, signal: stop.signal })
      .then(onAnswer, (error) => onAnswer(faultAnswer('closed', false, String(error))))
    return { cancel: () => stop.abort(CANCELLED) }
  }

  return {
    name: address.name,
    tier: address.tier,
    breaker,
    view(connection) {
      const { state, info } = options.health()
      const { up, inFlight, silentMs } = light.load()
      return {
        name: address.name,
        tier: address.tier,
        connected: up,
        state,
        hasUtxoIndex: info?.hasUtxoIndex ?? false,
        breaker: breaker.state(),
        latencyMs: averageMs,
        inFlight: connection === 'light' ? inFlight : heavy.inFlight(address.name),
        silentMs,
      }
    },
    ask: (method, paramsText, onAnswer) =>
      method.connection === 'light'
        ? light.ask(method.name, paramsText, method.timeoutMs, onAnswer)
        : askHeavy(method, paramsText, onAnswer),
    took(method, ms, lost) {
      if (!lost) latency(method).add(ms)
      if (method.connection === 'light') average(ms)
    },
    probed: average,
    latency,
    close: () => light.close(),
  }
}
