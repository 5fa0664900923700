/**
 * Notifications, from one node at a time, so that their order is one node's order.
 *
 *   idle ──first subscription──▶ choose ──▶ connect ──▶ subscribe all ──▶ live
 *                                  ▲                                        │
 *                                  └── backoff ◀── lost (socket, or moved) ─┘
 *
 * Every loss is announced before the next `onRegained`: what happened between the two was not seen, and the
 * listener has to catch up by calls. The feed moves away from a node that is unwell when a healthy one
 * exists, and stays where it is otherwise (each move is a gap).
 */
import { decodeAddress } from '../core/chain/address.ts'
import { type Network, networkInfo } from '../core/chain/network.ts'
import { backoffMs } from '../kit/backoff.ts'
import type { Clock } from '../kit/clock.ts'
import { type ExactJson, parseExact } from '../kit/exact-json.ts'
import { choose, type NodeCandidate } from './choose.ts'
import {
  isNotificationName,
  type NotificationName,
  type NotificationScope,
  type PlainEvent,
  scopeChanges,
  wantedOf,
} from './notification-scopes.ts'
import { openWrpcSocket, type WrpcSocket } from './wrpc.ts'
import { sliceMembers } from './wrpc-message.ts'

export interface NodeNotification {
  readonly event: NotificationName
  readonly node: string
  /** the payload inside the event tag, as it came */
  readonly bytes: Buffer
  /** the payload with exact integers; undefined when the node sent broken JSON */
  value(): ExactJson | undefined
}

export interface NotificationListener {
  /** UtxosChanged: changes of all subscribed addresses, also those of other listeners. Must not throw or block. */
  onNotification(notification: NodeNotification): void
  /** In place: the first time, and again after every loss. Nothing from before may be assumed unbroken. */
  onRegained?(at: { node: string }): void
  onLost?(at: { node: string; detail: string }): void
}

export interface NodeSubscription {
  /** Replaces the addresses of a UtxosChanged subscription. Throws on an address the network does not have. */
  setAddresses(addresses: readonly string[]): void
  close(): void
}

export interface NodeSubscriptions {
  subscribe(scope: NotificationScope, listener: NotificationListener): NodeSubscription
  /** Call it when a node's state changed. */
  reconsider(): void
  readonly node: string | undefined
  close(): void
}

export interface NodeSubscriptionsOptions {
  network: Network
  nodes: readonly { name: string; url: string }[]
  views: () => NodeCandidate[]
  clock: Clock
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
}

const RECONNECT = { baseMs: 100, capMs: 3_000 }
const SUBSCRIBE_TIMEOUT_MS = 5_000
const NO_NODE_WAIT_MS = 1_000

export function createNodeSubscriptions(options: NodeSubscriptionsOptions): NodeSubscriptions {
  const { clock } = options
  const entries = new Set<Entry>()
  const stop = new AbortController()
  let connection: Connection | undefined
  let connecting = false
  let reconciling: Promise<void> | undefined
  let attempt = 0

  const wanted = () => wantedOf([...entries].map((entry) => entry.scope))

  function pick(): string | undefined {
    return choose(options.views(), { utxoIndex: wanted().addresses.size > 0 }).order[0]
  }

  async function connect(): Promise<void> {
    if (connecting || connection !== undefined || stop.signal.aborted || entries.size === 0) return
    connecting = true
    let name = pick()
    while (name === undefined && entries.size > 0 && !stop.signal.aborted) {
      await options.nextChange(AbortSignal.any([stop.signal, AbortSignal.timeout(NO_NODE_WAIT_MS)]))
      name = pick()
    }
    connecting = false
    const node = options.nodes.find((candidate) => candidate.name === name)
    if (node === undefined || stop.signal.aborted) return
    const opened: Connection = {
      node: node.name,
      socket: openWrpcSocket({
        url: node.url,
        onOpen: () => void reconcile(),
        onClose: (detail) => lost(opened, detail),
        onNotification: (_, params) => deliver(node.name, params),
      }),
      inPlace: { events: new Set(), addresses: new Set() },
    }
    connection = opened
  }

  function lost(which: Connection, detail: string): void {
    if (connection !== which) return
    connection = undefined
    if (stop.signal.aborted) return
    for (const entry of entries) {
      if (entry.live) entry.listener.onLost?.({ node: which.node, detail })
      entry.live = false
    }
    options.onTrouble?.({ node: which.node, what: 'feed_lost', detail })
    clock.sleep(backoffMs(RECONNECT, attempt++), stop.signal).then(connect, () => {})
  }

  function deliver(node: string, params: Buffer): void {
    const [tag, bytes] = sliceMembers(params)?.entries().next().value ?? []
    if (tag === undefined || bytes === undefined || !isNotificationName(tag)) {
      options.onTrouble?.({ node, what: 'unknown_notification', detail: params.toString('utf8', 0, 200) })
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
    for (const entry of entries) if (entry.scope.event === tag) entry.listener.onNotification(notification)
  }

  /** One at a time: brings the socket's subscriptions to what is wanted, then tells who is in place. */
  function reconcile(): Promise<void> {
    reconciling ??= reconcileOnce().finally(() => {
      reconciling = undefined
    })
    return reconciling
  }

  async function reconcileOnce(): Promise<void> {
    const at = connection
    if (at === undefined || at.socket.state !== 'open') return
    for (;;) {
      const [change] = scopeChanges(at.inPlace, wanted())
      if (change === undefined) break
      const answer = await at.socket.call(change.method, change.paramsText, {
        timeoutMs: SUBSCRIBE_TIMEOUT_MS,
      })
      if (connection !== at) return
      if (answer.kind !== 'result') {
        lost(at, answer.kind === 'error' ? answer.text : answer.detail)
        at.socket.close()
        return
      }
      for (const event of change.events) mutate(at.inPlace.events, change.method, event)
      for (const address of change.addresses) mutate(at.inPlace.addresses, change.method, address)
    }
    attempt = 0
    for (const entry of entries) {
      if (entry.live) continue
      entry.live = true
      entry.listener.onRegained?.({ node: at.node })
    }
  }

  function changed(): void {
    if (connection === undefined) void connect()
    else void reconcile().then(() => reconcile())
  }

  function checked(scope: NotificationScope): NotificationScope {
    if (scope.event !== 'UtxosChanged') return scope
    const { addressPrefix } = networkInfo(options.network)
    for (const address of scope.addresses) {
      const decoded = decodeAddress(address)
      if (!decoded.ok) throw new RangeError(`not an address: ${decoded.message}`)
      if (decoded.address.prefix !== addressPrefix) throw new RangeError('an address of another network')
    }
    return scope
  }

  return {
    get node() {
      return connection?.node
    },
    subscribe(scope, listener) {
      const entry: Entry = { scope: checked(scope), listener, live: false }
      entries.add(entry)
      changed()
      return {
        setAddresses(addresses) {
          if (entry.scope.event !== 'UtxosChanged') throw new TypeError('only UtxosChanged has addresses')
          entry.scope = checked({ event: 'UtxosChanged', addresses })
          changed()
        },
        close() {
          entries.delete(entry)
          changed()
        },
      }
    },
    reconsider() {
      if (connection === undefined) return
      const views = options.views()
      const present = views.find((view) => view.name === connection?.node)
      const better = choose(views, { utxoIndex: wanted().addresses.size > 0 }).order[0]
      const betterState = views.find((view) => view.name === better)?.state
      if (better === connection.node || betterState !== 'healthy' || present?.state === 'healthy') return
      const leaving = connection
      lost(leaving, `moved away: ${present?.state ?? 'gone'}`)
      leaving.socket.close()
    },
    close() {
      stop.abort()
      entries.clear()
      connection?.socket.close()
    },
  }
}

function mutate<T>(set: Set<T>, method: 'subscribe' | 'unsubscribe', item: T): void {
  if (method === 'subscribe') set.add(item)
  else set.delete(item)
}
