/**
 * The node subscriptions, shared by all readers. Chain changes and changed UTXOs only wake the follower, which then
 * queries what changed. Its answer is relative to what is already known, whichever node gives it, so nothing can be
 * lost, repeated or reordered. Blocks and scores are taken as they come.
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
  /** The node announced a new sink, and has sent every block below it. */
  onSink: (blueScore: number) => void
  /** All subscriptions are active on this node; earlier events were not received. */
  onLive: (node: string) => void
  onLost: () => void
}

const PLAIN: readonly PlainEvent[] = [
  'BlockAdded',
  'VirtualChainChanged',
  'VirtualDaaScoreChanged',
  'SinkBlueScoreChanged',
]

/** Above this number of addresses the notifications about the chain are enough, and the node has less work. */
const NODE_ADDRESSES = 1_000
const GATHER_CHANGES_MS = 500

/** Notifications of scores are much shorter. */
const MAX_SCORE_BYTES = 1_000

function sinkScoreOf(bytes: Uint8Array): number | undefined {
  if (bytes.length > MAX_SCORE_BYTES) return undefined
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  const digits = /"sinkBlueScore"\s*:\s*"?(\d{1,15})\b/.exec(text)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

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
        noteSink(bytes)
        break
    }
  }

  function noteSink(bytes: Uint8Array): void {
    const blueScore = sinkScoreOf(bytes)
    if (blueScore !== undefined) options.onSink(blueScore)
  }

  // All subscriptions share one socket, so the first one reports for the others.
  const reporting: NotificationListener = {
    onNotification,
    onRegained: ({ node }) => options.onLive(node),
    onLost: () => options.onLost(),
  }
  const subscriptions: NodeSubscription[] = PLAIN.map((event, index) =>
    upstreams.subscribe({ event }, index === 0 ? reporting : { onNotification }),
  )
  const addresses = () => watched.list(NODE_ADDRESSES)
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
