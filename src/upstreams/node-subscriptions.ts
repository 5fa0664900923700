/**
 * Notifications, from one node at a time, so that they arrive in that node's order.
 *
 *   idle ──first subscription──▶ choose ──▶ connect ──▶ subscribe all ──▶ live
 *                                  ▲                                        │
 *                                  └── backoff ◀── lost (socket, or moved) ─┘
 *
 * Every loss is announced before the next `onRegained`. Events between the two were not received, and the
 * listener has to catch up with calls. The subscriptions move from an unhealthy node to a healthy one if there is
 * one; otherwise they stay, because each move is a gap.
 */
import { assertAddress } from '../core/chain/address.ts'
import type { Network } from '../core/chain/network.ts'
import { backoffMs } from '../kit/backoff.ts'
import { elapsedMs, runAfter } from '../kit/clock.ts'
import { type ExactJson, parseExact } from '../kit/exact-json.ts'
import { sliceMembers } from '../kit/json-slices.ts'
import { choose, type NodeCandidate } from './choose.ts'
import type { NodePorts } from './node-ports.ts'
import {
  isNotificationName,
  type NotificationName,
  type NotificationScope,
  type PlainEvent,
  scopeChanges,
  wantedOf,
} from './notification-scopes.ts'
import { WrpcSocket } from './wrpc.ts'
import { MAX_MEMBERS } from './wrpc-message.ts'

export interface NodeNotification {
  readonly event: NotificationName
  readonly node: string
  /** the payload inside the event tag, exactly as received */
  readonly bytes: Buffer
  /** the payload with exact integers; undefined when the node sent broken JSON */
  value(): ExactJson | undefined
}

export interface NotificationListener {
  /** For UtxosChanged this includes the addresses of other listeners. Must not throw or block. */
  onNotification(notification: NodeNotification): void
  /** The subscription is active, for the first time or again after a loss. Earlier events may have been missed. */
  onRegained?(at: { node: string }): void
  onLost?(at: { node: string; detail: string }): void
}

export interface NodeSubscription {
  /** Replaces the addresses of a UtxosChanged subscription. Throws if an address does not belong to the network. */
  setAddresses(addresses: readonly string[]): void
  close(): void
}

export interface NodeSubscriptionsOptions {
  network: Network
  nodes: readonly { name: string; url: string }[]
  views: () => NodeCandidate[]
  ports: NodePorts
  nextChange: (signal: AbortSignal) => Promise<void>
  onTrouble?: (trouble: { node: string; what: string; detail: string }) => void
}

interface Entry {
  scope: NotificationScope
  listener: NotificationListener
  live: boolean
}

interface Connection {
  node: string
  socket: WrpcSocket
  inPlace: { events: Set<PlainEvent>; addresses: Set<string> }
  /** When all subscriptions became active. */
  inPlaceAtMs?: number
}

const RECONNECT = { baseMs: 100, capMs: 3_000 }
const SUBSCRIBE_TIMEOUT_MS = 5_000
const NO_NODE_WAIT_MS = 1_000
/**
 * A node may accept every subscription and fail at its first notification, so only a connection that lasts this long
 * resets the backoff.
 */
const STEADY_AFTER_MS = 5_000

export class NodeSubscriptions {
  readonly #options: NodeSubscriptionsOptions
  readonly #entries = new Set<Entry>()
  readonly #stop = new AbortController()
  #connection: Connection | undefined
  #isConnecting = false
  #reconciling: Promise<void> | undefined
  #attempt = 0

  constructor(options: NodeSubscriptionsOptions) {
    this.#options = options
  }

  get node(): string | undefined {
    return this.#connection?.node
  }

  subscribe(scope: NotificationScope, listener: NotificationListener): NodeSubscription {
    const entry: Entry = { scope: this.#checked(scope), listener, live: false }
    this.#entries.add(entry)
    this.#changed()
    return {
      setAddresses: (addresses) => {
        if (entry.scope.event !== 'UtxosChanged') throw new TypeError('only UtxosChanged has addresses')
        entry.scope = this.#checked({ event: 'UtxosChanged', addresses })
        this.#changed()
      },
      close: () => {
        this.#entries.delete(entry)
        this.#changed()
      },
    }
  }

  /** To be called whenever a node's state has changed. */
  reconsider(): void {
    const present = this.#connection
    if (present === undefined) return
    const views = this.#options.views()
    const stateOf = (name: string | undefined) => views.find((view) => view.name === name)?.state
    const better = this.#pick()
    const isWorthIt = stateOf(better) === 'healthy' && stateOf(present.node) !== 'healthy'
    if (better === present.node || !isWorthIt) return
    this.#lost(present, `moved away: ${stateOf(present.node) ?? 'gone'}`)
    present.socket.close()
  }

  close(): void {
    this.#stop.abort()
    this.#entries.clear()
    this.#connection?.socket.close()
  }

  #wanted() {
    return wantedOf([...this.#entries].map((entry) => entry.scope))
  }

  #pick(): string | undefined {
    const views = this.#options.views()
    const isHealthy = (name: string | undefined) =>
      views.some((view) => view.name === name && view.state === 'healthy')
    const fitting = choose(views, { utxoIndex: this.#wanted().addresses.size > 0 }).order[0]
    if (isHealthy(fitting)) return fitting
    // A node without the UTXO index lacks only UtxosChanged; an unhealthy node may be stale in everything.
    const any = choose(views, { utxoIndex: false }).order[0]
    return isHealthy(any) ? any : fitting
  }

  async #connect(): Promise<void> {
    const isWanted = () => this.#entries.size > 0 && !this.#stop.signal.aborted
    if (this.#isConnecting || this.#connection !== undefined || !isWanted()) return
    this.#isConnecting = true
    let name = this.#pick()
    while (name === undefined && isWanted()) {
      await this.#nodeChange()
      name = this.#pick()
    }
    this.#isConnecting = false
    const node = this.#options.nodes.find((candidate) => candidate.name === name)
    if (node === undefined || this.#stop.signal.aborted) return
    const opened: Connection = {
      node: node.name,
      socket: new WrpcSocket({
        url: node.url,
        dial: this.#options.ports.dial,
        clock: this.#options.ports.clock,
        onOpen: () => void this.#reconcile(),
        onClose: (detail) => this.#lost(opened, detail),
        onNotification: (_, params) => this.#deliver(node.name, params),
      }),
      inPlace: { events: new Set(), addresses: new Set() },
    }
    this.#connection = opened
  }

  /** Waits for the next change of any node, but at most one second. */
  async #nodeChange(): Promise<void> {
    const waited = new AbortController()
    const cancel = runAfter(this.#options.ports.clock, NO_NODE_WAIT_MS, () => waited.abort())
    await this.#options.nextChange(AbortSignal.any([this.#stop.signal, waited.signal]))
    cancel()
  }

  #lost(which: Connection, detail: string): void {
    if (this.#connection !== which) return
    this.#connection = undefined
    if (this.#stop.signal.aborted) return
    for (const entry of this.#entries) {
      if (entry.live) entry.listener.onLost?.({ node: which.node, detail })
      entry.live = false
    }
    this.#options.onTrouble?.({ node: which.node, what: 'feed_lost', detail })
    const { clock, random } = this.#options.ports
    const isSteady =
      which.inPlaceAtMs !== undefined && elapsedMs(clock) - which.inPlaceAtMs >= STEADY_AFTER_MS
    if (isSteady) this.#attempt = 0
    const waitMs = backoffMs(RECONNECT, this.#attempt++, random)
    clock.sleep(waitMs, this.#stop.signal).then(
      () => this.#connect(),
      () => {},
    )
  }

  #deliver(node: string, params: Buffer): void {
    const [tag, bytes] = sliceMembers(params, MAX_MEMBERS)?.entries().next().value ?? []
    if (tag === undefined || bytes === undefined || !isNotificationName(tag)) {
      const detail = params.toString('utf8', 0, 200)
      this.#options.onTrouble?.({ node, what: 'unknown_notification', detail })
      return
    }
    const notification: NodeNotification = {
      event: tag,
      node,
      bytes,
      value: () => {
        const read = parseExact(bytes.toString('utf8'))
        return read.ok ? read.value : undefined
      },
    }
    for (const { scope, listener } of this.#entries) {
      if (scope.event === tag) listener.onNotification(notification)
    }
  }

  #changed(): void {
    if (this.#connection === undefined) void this.#connect()
    else void this.#reconcile().then(() => this.#reconcile())
  }

  /**
   * Brings the socket's subscriptions in line with what is wanted, then notifies the listeners that became active. Only
   * one reconciliation runs at a time.
   */
  #reconcile(): Promise<void> {
    this.#reconciling ??= this.#reconcileOnce().finally(() => {
      this.#reconciling = undefined
    })
    return this.#reconciling
  }

  async #reconcileOnce(): Promise<void> {
    const at = this.#connection
    if (at === undefined || at.socket.state !== 'open') return
    for (;;) {
      const [change] = scopeChanges(at.inPlace, this.#wanted())
      if (change === undefined) break
      const answer = await at.socket.call(change.method, change.paramsText, {
        timeoutMs: SUBSCRIBE_TIMEOUT_MS,
      })
      if (this.#connection !== at) return
      if (answer.kind !== 'result') {
        this.#lost(at, answer.kind === 'error' ? answer.text : answer.detail)
        at.socket.close()
        return
      }
      for (const event of change.events) mutate(at.inPlace.events, change.method, event)
      for (const address of change.addresses) mutate(at.inPlace.addresses, change.method, address)
    }
    at.inPlaceAtMs ??= elapsedMs(this.#options.ports.clock)
    for (const entry of this.#entries) {
      if (entry.live) continue
      entry.live = true
      entry.listener.onRegained?.({ node: at.node })
    }
  }

  #checked(scope: NotificationScope): NotificationScope {
    if (scope.event !== 'UtxosChanged') return scope
    for (const address of scope.addresses) assertAddress(address, this.#options.network)
    return scope
  }
}

function mutate<T>(set: Set<T>, method: 'subscribe' | 'unsubscribe', item: T): void {
  if (method === 'subscribe') set.add(item)
  else set.delete(item)
}
