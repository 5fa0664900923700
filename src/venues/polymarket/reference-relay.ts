/** Chooses the relay of the reference price: the open one, the one that requires a key, or none. */
import type { Channel } from '../channel.ts'
import type { FrameProtocol } from '../live/frame.ts'
import type { SocketRoute } from '../live/socket.ts'
import { type BoltCredentials, boltOrNotice, boltRoute, createBoltReader } from './bolt-feed.ts'
import type { PolymarketHosts } from './describe.ts'
import { createReferenceReader, referenceRoute, USUAL_TOPICS } from './reference-feed.ts'

export interface ReferenceOptions {
  readonly reference?: 'rtds' | 'bolt' | 'none'
  /** Topics of the open relay. */
  readonly referenceTopics?: readonly string[]
  /** For the relay that requires a key. */
  readonly bolt?: Partial<BoltCredentials>
}

export type ReferenceRelay = ReturnType<typeof referenceRelay>

export function referenceRelay(options: ReferenceOptions = {}, hosts: PolymarketHosts) {
  const relay = options.reference ?? 'rtds'
  const topics = options.referenceTopics ?? USUAL_TOPICS
  const { credentials, notice } = relay === 'bolt' ? boltOrNotice(options.bolt) : {}
  return {
    isOn: relay === 'rtds' || credentials !== undefined,
    notice,
    routes(channels: readonly Channel[]): SocketRoute[] {
      if (channels.length === 0) return []
      if (credentials !== undefined) return [boltRoute(channels, hosts.bolt, credentials)]
      return relay === 'rtds' ? [referenceRoute(channels, hosts.reference, topics)] : []
    },
    openReader: (): FrameProtocol =>
      credentials === undefined ? createReferenceReader(topics) : createBoltReader(),
  }
}
