/** The small world of the readers: who pays, who receives which events, who sends requests and how often. */

import { planBook } from '../../../src/accounts/plans.ts'
import { encodeAddress } from '../../../src/core/chain/address.ts'
import type { EventKind } from '../../../src/events/kinds.ts'
import type { Random } from '../random.ts'

export const READER_NETWORK = 'testnet-10'
/** Kinds about the whole chain, which addresses do not narrow. Listed here independently of the service. */
const CHAIN_WIDE: readonly string[] = [
  'block_added',
  'virtual_chain_changed',
  'virtual_daa_score_changed',
  'sink_blue_score_changed',
]
export const WRITTEN_KINDS = ['block_added', 'virtual_daa_score_changed', 'utxos_changed'] as const

/** Retry delays that add up to less than the quiet time of a simulation; a fault may last longer than all of them. */
export const RETRY_DELAYS_MS = [5_000, 30_000, 60_000, 120_000, 240_000, 240_000, 240_000]

export const PLANS = planBook({
  plans: [
    { name: 'reader', extends: 'business', requestsPerSecond: 50, streamConnections: 6 },
    { name: 'poor', extends: 'business', creditsPerMonth: 20_000 },
  ],
})

export interface Selection {
  readonly kinds: readonly EventKind[]
  readonly addresses: readonly string[]
}

export interface ReaderWorld {
  /** The time between two writes to the log. */
  readonly eventGapMs: number
  readonly webhooks: readonly (Selection & { readonly batch: boolean })[]
  /** Each with its subscriptions. */
  readonly streams: readonly (readonly Selection[])[]
  readonly callers: readonly {
    readonly plan: 'reader' | 'poor'
    readonly gapMs: number
    readonly cap: number | null
  }[]
  /** The time between two changes of webhooks by their owner; 0 if there are none. */
  readonly ownerGapMs: number
  /** The time between two changes of the callers' accounts and keys; 0 if there are none. */
  readonly operatorGapMs: number
  /** A second process that serves requests of the same accounts. */
  readonly hasSecond: boolean
  /** Whether it also delivers to webhooks and serves stream clients, as the first process does. */
  readonly doesSecondDeliver: boolean
}

export const ADDRESSES: readonly string[] = [1, 2, 3, 4].map((number) => {
  const payload = new Uint8Array(32)
  new DataView(payload.buffer).setUint32(0, number)
  return encodeAddress({ prefix: 'kaspatest', version: 0, payload })
})

export function drawSelection(random: Random): Selection {
  const kinds = random.pick([
    ['block_added'],
    ['utxos_changed'],
    ['utxos_changed', 'block_added'],
    [...WRITTEN_KINDS],
  ] as const)
  // Kinds about addresses need at least one address.
  const needsAddress = kinds.some((kind) => kind === 'utxos_changed')
  const addresses = needsAddress ? [random.pick(ADDRESSES), random.pick(ADDRESSES)] : []
  return { kinds, addresses: [...new Set(addresses)].sort() }
}

export function drawReaderWorld(random: Random): ReaderWorld {
  const selection = () => drawSelection(random)
  const list = <T>(from: number, to: number, make: () => T): T[] =>
    Array.from({ length: random.int(from, to) }, make)
  return {
    eventGapMs: random.pick([3_000, 8_000, 30_000]),
    webhooks: list(1, 3, () => ({ ...selection(), batch: random.chance(0.3) })),
    streams: list(1, 3, () => (random.chance(0.4) ? list(2, 4, selection) : [selection()])),
    callers: list(1, 3, () => ({
      plan: random.pick(['reader', 'reader', 'poor'] as const),
      gapMs: random.pick([4_000, 12_000, 30_000]),
      cap: random.chance(0.3) ? random.int(50, 3_000) : null,
    })),
    hasSecond: random.chance(0.5),
    doesSecondDeliver: random.chance(0.6),
    ownerGapMs: random.pick([0, 60_000, 240_000, 900_000]),
    operatorGapMs: random.pick([0, 60_000, 240_000, 900_000]),
  }
}

export function selects(
  selection: Selection,
  event: { readonly kind: string; readonly addresses: readonly string[] },
): boolean {
  if (!(selection.kinds as readonly string[]).includes(event.kind)) return false
  if (selection.addresses.length === 0 || CHAIN_WIDE.includes(event.kind)) return true
  return event.addresses.some((address) => selection.addresses.includes(address))
}
