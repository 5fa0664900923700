/**
 * The nodes of one environment: validated calls with failover, and notifications.
 *
 *   call(method, params) ─▶ validate ─▶ cache / single-flight ─▶ request (choose, hedge, retry) ─▶ node connections
 *
 * Every node has a probe socket, a few light sockets (on this thread) and heavy sockets (on the heavy thread, opened
 * on demand). One node at a time also carries the subscription socket.
 */
import type { Network } from '../core/chain/network.ts'
import type { BreakerPolicy } from '../kit/breaker.ts'
import { type Clock, runAfter, runEvery } from '../kit/clock.ts'
import { type JsonLimits, type JsonReading, parseExactInSlices } from '../kit/exact-json.ts'
import { createAnswerCache } from './answer-cache.ts'
import type { CallOptions, CallOutcome, ParsedOutcome } from './call-outcome.ts'
import { createChangeSignal } from './change-signal.ts'
import { choose, type NodeChoice } from './choose.ts'
import { dialNode } from './dial-node.ts'
import type { NodeState } from './health.ts'
import { openHeavyInline } from './heavy-inline.ts'
import { startHeavyThread } from './heavy-thread.ts'
import { linkNode, type NodeAddress } from './node-link.ts'
import type { NodePorts } from './node-ports.ts'
import { type NodeSubscription, NodeSubscriptions, type NotificationListener } from './node-subscriptions.ts'
import type { NotificationScope } from './notification-scopes.ts'
import { startProbing } from './probe-nodes.ts'
import { createRequester } from './request.ts'
import { type Preparation, type ValidCall, validateParams } from './validate-params.ts'

/** The largest answer that `call` parses is a transaction of 250 kB, in hexadecimal and with the node's own remarks. */
const PARSED_LIMITS: JsonLimits = { maxDepth: 64, maxChars: 2 * 1024 * 1024 }

export interface Trouble {
  readonly node: string
  /** a wire fault, `unknown_refusal`, `feed_lost`, `unknown_notification` or `state` */
  readonly what: string
  readonly detail: string
  readonly method?: string
}

export interface UpstreamSettings {
  lightSockets: number
  heavySockets: number
  heavyWaiting: number
  probeEveryMs: number
  probeTimeoutMs: number
  /** DAA scores behind the best node: above `lagOut` a node is used last, at `lagIn` or less it recovers. */
  lagOut: number
  lagIn: number
  badProbes: number
  goodProbes: number
  breaker: BreakerPolicy
}

const DEFAULT_UPSTREAM_SETTINGS: UpstreamSettings = {
  lightSockets: 4,
  heavySockets: 4,
  heavyWaiting: 64,
  probeEveryMs: 1_000,
  probeTimeoutMs: 2_000,
  lagOut: 600,
  lagIn: 200,
  badProbes: 2,
  goodProbes: 3,
  breaker: { failures: 5, openMs: 1_000, maxOpenMs: 30_000 },
}

export interface UpstreamsOptions {
  network: Network
  nodes: readonly NodeAddress[]
  clock: Clock
  random: () => number
  /** If omitted, WebSockets are used, with a thread for large answers. If given, everything runs on this thread. */
  dial?: NodePorts['dial']
  settings?: Partial<UpstreamSettings>
  onTrouble?: (trouble: Trouble) => void
}

/** A node as shown by /v1/status. */
export interface NodeStatus {
  readonly name: string
  readonly tier: 'primary' | 'backup'
  readonly state: NodeState
  readonly connected: boolean
  readonly synced: boolean
  readonly utxoIndex: boolean
  readonly daaScore: number | null
  readonly lag: number
  readonly version: string
  readonly breaker: string
  readonly latencyMs: number
}

export interface Upstreams {
  readonly network: Network
  /** Validates without sending. */
  prepare(method: string, params: unknown): Preparation
  /** The answer's exact bytes, unparsed. */
  callRaw(method: string, params: unknown, options?: CallOptions): Promise<CallOutcome>
  sendRaw(call: ValidCall, options?: CallOptions): Promise<CallOutcome>
  /** Parses the answer with exact integers; an answer of more than two megabytes is malformed. */
  call(method: string, params: unknown, options?: CallOptions): Promise<ParsedOutcome>
  /** See `NotificationListener`. Throws if an address does not belong to the network. */
  subscribe(scope: NotificationScope, listener: NotificationListener): NodeSubscription
  nodes(): NodeStatus[]
  /** The order in which nodes would be used now, and why. */
  explain(): NodeChoice
  /** Resolves to true as soon as a node is usable, and to false if none is when the time is over. */
  ready(timeoutMs: number): Promise<boolean>
  close(): Promise<void>
}

export function createUpstreams(options: UpstreamsOptions): Upstreams {
  const { network, clock, random, dial } = options
  const ports: NodePorts = { clock, random, dial: dial ?? dialNode }
  const settings = { ...DEFAULT_UPSTREAM_SETTINGS, ...options.settings }
  const onTrouble = options.onTrouble ?? (() => {})
  const changes = createChangeSignal()
  const heavyNodes = {
    nodes: options.nodes.map(({ name, url }) => ({ name, url })),
    socketsPerNode: settings.heavySockets,
    maxWaitingPerNode: settings.heavyWaiting,
  }
  const heavy = dial === undefined ? startHeavyThread(heavyNodes) : openHeavyInline(heavyNodes, ports)
  const watch = startProbing({
    nodes: options.nodes,
    policy: { network, ...settings },
    everyMs: settings.probeEveryMs,
    timeoutMs: settings.probeTimeoutMs,
    ports,
    onChange: (node, before, after) => {
      onTrouble({ node, what: 'state', detail: `${before.state} → ${after.state}` })
      changes.notify()
      subscriptions.reconsider()
    },
    onProbe: (node, ms) => links.find((link) => link.name === node)?.probed(ms),
  })
  const links = options.nodes.map((address) =>
    linkNode({
      address,
      ports,
      heavy,
      lightSockets: settings.lightSockets,
      breaker: settings.breaker,
      health: () => watch.health(address.name),
      onChange: changes.notify,
    }),
  )
  const views = () => links.map((link) => link.view('light'))
  const subscriptions = new NodeSubscriptions({
    network,
    nodes: options.nodes,
    views,
    ports,
    nextChange: changes.next,
    onTrouble,
  })
  const requester = createRequester({ nodes: links, clock, nextChange: changes.next, onTrouble })
  const cache = createAnswerCache(clock)

  function sendRaw(call: ValidCall, callOptions: CallOptions = {}): Promise<CallOutcome> {
    // A cached answer may come from any node, so a caller that asks for a particular node is not served from the cache.
    const { prefer, stayOn, asConfigured } = callOptions
    const asksForNode = prefer !== undefined || stayOn !== undefined || asConfigured === true
    if (call.method.cacheMs === 0 || asksForNode) return requester.send(call, callOptions)
    const cached = cache.cached(call)
    // An answer from a node that has become unhealthy since does not count as fresh.
    if (cached?.ok && watch.health(cached.node).state === 'healthy') return Promise.resolve(cached)
    const shared = cache.fetch(call, () => requester.send(call, {}))
    return within(clock, shared, callOptions, call.method.timeoutMs * 2)
  }

  async function callRaw(
    method: string,
    params: unknown,
    callOptions: CallOptions = {},
  ): Promise<CallOutcome> {
    const prepared = validateParams(method, params, network)
    if (prepared.ok) return sendRaw(prepared.call, callOptions)
    const { kind, faults } = prepared
    return { ok: false, failure: { kind, faults }, attempts: 0, inDoubt: false }
  }

  return {
    network,
    prepare: (method, params) => validateParams(method, params, network),
    callRaw,
    sendRaw,
    async call(method, params, callOptions) {
      const outcome = await callRaw(method, params, callOptions)
      if (!outcome.ok) return outcome
      const { node, attempts, inDoubt } = outcome
      const read = await parsed(outcome.bytes)
      if (read.ok) return { ok: true, value: read.value, node, attempts, inDoubt }
      return {
        ok: false,
        failure: { kind: 'malformed_answer', detail: read.message, node },
        attempts,
        inDoubt,
      }
    },
    subscribe: (scope, listener) => subscriptions.subscribe(scope, listener),
    nodes: () =>
      options.nodes.map(({ name, tier }, index) => {
        const { state, info, lag } = watch.health(name)
        const link = links[index]
        const view = link?.view('light')
        const isOpen = view !== undefined && view.breaker !== 'closed'
        return {
          name,
          tier,
          state,
          connected: view?.connected ?? false,
          synced: info?.isSynced ?? false,
          utxoIndex: info?.hasUtxoIndex ?? false,
          daaScore: info?.virtualDaaScore ?? null,
          lag,
          version: info?.serverVersion ?? '',
          breaker: (isOpen ? view : link?.view('heavy'))?.breaker ?? 'closed',
          latencyMs: view?.latencyMs ?? 0,
        }
      }),
    explain: () => choose(views(), { utxoIndex: false }),
    async ready(timeoutMs) {
      const usable = () => choose(views(), { utxoIndex: false }).order.length > 0
      const limit = new AbortController()
      const cancel = runAfter(clock, timeoutMs, () => limit.abort())
      while (!usable() && !limit.signal.aborted) await changes.next(limit.signal)
      cancel()
      return usable()
    },
    async close() {
      subscriptions.close()
      watch.close()
      for (const link of links) link.close()
      await heavy.close()
      changes.notify()
      requester.close()
    },
  }
}

/** Refused by size first, because a heavy answer can have a hundred megabytes. */
async function parsed(bytes: Buffer): Promise<JsonReading> {
  const { maxChars } = PARSED_LIMITS
  if (bytes.length > maxChars) return { ok: false, message: `longer than ${maxChars} bytes`, at: maxChars }
  return parseExactInSlices(bytes.toString('utf8'), PARSED_LIMITS)
}

const ABANDONED_EVERY_MS = 50

/** Puts one caller's deadline and signal on a shared answer. The other callers keep waiting for it. */
async function within(
  clock: Clock,
  shared: Promise<CallOutcome>,
  { deadlineMs, signal, isAbandoned }: CallOptions,
  defaultMs: number,
): Promise<CallOutcome> {
  if (deadlineMs === undefined && signal === undefined && isAbandoned === undefined) return shared
  const { promise: left, resolve } = Promise.withResolvers<CallOutcome>()
  const leave = (kind: 'timeout' | 'cancelled', detail: string) =>
    resolve({ ok: false, failure: { kind, detail }, attempts: 0, inDoubt: false })
  const limitMs = deadlineMs ?? defaultMs
  const cancelLimit = runAfter(clock, limitMs, () => leave('timeout', `no answer within ${limitMs} ms`))
  const onAbort = () => leave('cancelled', 'the caller left')
  const stopChecking = isAbandoned && runEvery(clock, ABANDONED_EVERY_MS, () => isAbandoned() && onAbort())
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([shared, left])
  } finally {
    cancelLimit()
    stopChecking?.()
    signal?.removeEventListener('abort', onAbort)
  }
}
