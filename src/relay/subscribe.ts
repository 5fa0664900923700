/**
 * The one set of node subscriptions that everybody shares. Chain changes and changed UTXOs only ring: what
 * changed is asked for, because a call answers relative to what is already known, whichever node answers, and
 * so cannot be lost, doubled or reordered. Blocks and scores are taken as they come.
 */
import { type Clock, runAfter } from '../kit/clock.ts'
import type {
  NodeNotification,
  NodeSubscription,
  NotificationListener,
} from '../upstreams/node-subscriptions.ts'
import type { PlainEvent } from '../upstreams/notification-scopes.ts'
import type { Upstreams } from '../upstreams/pool.ts'
import type { WatchedAddresses } from './addresses.ts'
import type { NotificationQueue } from './notification-queue.ts'

export interface SubscribeOptions {
  upstreams: Pick<Upstreams, 'subscribe'>
  clock: Clock
  watched: WatchedAddresses
  queue: NotificationQueue
  /** The chain may have moved. */
  onChain: () => void
  /** Blocks or scores are waiting in the queue. */
  onNotifications: () => void
  /** All are in place, on this node: what happened before was not seen. */
  onLive: (node: string) => void
  onLost: () => void
}

const PLAIN: readonly PlainEvent[] = [
  'BlockAdded',
  'VirtualChainChanged',
  'VirtualDaaScoreChanged',
  'SinkBlueScoreChanged',
]

/** Beyond so many the bell of the chain itself is enough, and the node is spared. */
const NODE_ADDRESSES = 1_000
const GATHER_CHANGES_MS = 500

export function subscribe(options: SubscribeOptions): { close(): void } {
  const { upstreams, clock, watched, queue } = options

  function onNotification({ event, bytes }: NodeNotification): void {
    switch (event) {
      case 'VirtualChainChanged':
      case 'UtxosChanged':
        options.onChain()
        break
      case 'BlockAdded':
        queue.block(bytes)
        options.onNotifications()
        break
      case 'VirtualDaaScoreChanged':
        queue.daaScore(bytes)
        options.onNotifications()
        break
      case 'SinkBlueScoreChanged':
        queue.blueScore(bytes)
        options.onNotifications()
        break
    }
  }

  // All of them share one socket, so the first one speaks for the others.
  const speaking: NotificationListener = {
    onNotification,
    onRegained: ({ node }) => options.onLive(node),
    onLost: () => options.onLost(),
  }
  const subscriptions: NodeSubscription[] = PLAIN.map((event, index) =>
    upstreams.subscribe({ event }, index === 0 ? speaking : { onNotification }),
  )
  const addresses = () => watched.list().slice(0, NODE_ADDRESSES)
  const utxos = upstreams.subscribe({ event: 'UtxosChanged', addresses: addresses() }, { onNotification })
  let cancelPending: (() => void) | undefined
  const unwatch = watched.onChange(() => {
    cancelPending ??= runAfter(clock, GATHER_CHANGES_MS, () => {
      cancelPending = undefined
      utxos.setAddresses(addresses())
    })
  })
  return {
    close() {
      unwatch()
      cancelPending?.()
      for (const subscription of [...subscriptions, utxos]) subscription.close()
    },
  }
}
