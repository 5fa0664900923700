/** One node as the rest of the folder sees it: its connections, its breakers and its latencies. */
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

/**
 * `priority` stands for heavy calls of the index. Their success says nothing about callers' heavy calls, whose params
 * differ.
 */
export type BreakerKind = ConnectionKind | 'priority'

export interface NodeLink {
  readonly name: string
  readonly tier: NodeTier
  /** One breaker per kind, because heavy calls can hang on a node whose light calls and probes are fine. */
  breaker(kind: BreakerKind): Breaker
  view(kind: BreakerKind): NodeCandidate
  /** See `WrpcSocket.ask`; the time limit comes from the method. */
  ask(
    call: { method: RpcMethod; paramsText: string; isPriority: boolean },
    onAnswer: OnAnswer,
  ): PendingCall | undefined
  /** `lost` means that the call took at least this long before another node answered first. */
  took(method: RpcMethod, ms: number, lost: boolean): void
  /** Reports a probe's duration. Without it, an idle node that was slow once would look slow for ever. */
  probed(ms: number): void
  /** Recent durations of this method on this node. */
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

/** Shared by all aborts, because an abort without a reason builds an exception with a stack trace each time. */
const CANCELLED = new Error('the call is over')

export function linkNode(options: NodeLinkOptions): NodeLink {
  const { address, heavy } = options
  const light = openLightConnections({
    url: address.url,
    sockets: options.lightSockets,
    ports: options.ports,
    onChange: options.onChange,
  })
  const breakers: Record<BreakerKind, Breaker> = {
    light: createBreaker(options.breaker, options.ports.clock),
    heavy: createBreaker(options.breaker, options.ports.clock),
    priority: createBreaker(options.breaker, options.ports.clock),
  }
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

  const askHeavy: NodeLink['ask'] = ({ method, paramsText, isPriority }, onAnswer) => {
    const stop = new AbortController()
    const { timeoutMs } = method
    heavy
      .call(address.name, method.name, paramsText, { timeoutMs, isPriority, signal: stop.signal })
      .then(onAnswer, (error) => onAnswer(faultAnswer('closed', false, String(error))))
    return { cancel: () => stop.abort(CANCELLED) }
  }

  return {
    name: address.name,
    tier: address.tier,
    breaker: (kind) => breakers[kind],
    view(kind) {
      const { state, info } = options.health()
      const { up, inFlight, silentMs } = light.load()
      return {
        name: address.name,
        tier: address.tier,
        connected: up,
        state,
        hasUtxoIndex: info?.hasUtxoIndex ?? false,
        breaker: breakers[kind].state(),
        latencyMs: averageMs,
        inFlight: kind === 'light' ? inFlight : heavy.inFlight(address.name),
        silentMs,
      }
    },
    ask: (call, onAnswer) => {
      const { method, paramsText } = call
      if (method.connection === 'heavy') return askHeavy(call, onAnswer)
      return light.ask(method.name, paramsText, method.timeoutMs, onAnswer)
    },
    took(method, ms, lost) {
      if (!lost) latency(method).add(ms)
      if (method.connection === 'light') average(ms)
    },
    probed: average,
    latency,
    close: () => light.close(),
  }
}
