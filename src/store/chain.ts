/**
 * The chain index: transactions with their status, the rows of every address, the followed chain, and how far
 * it was followed. Index rows and the events about them are written in one transaction (`write`). Only
 * one indexer writes, so what it reads between two writes does not change under it.
 *
 *   pending ──accepted──▶ confirmed ──its block left the chain──▶ pending
 *   pending ──left the mempool, not accepted──▶ dropped ──seen again──▶ pending
 */
import type { CovenantChange, CovenantStore } from './covenants.ts'
import type { EventStore, NewEvent } from './events.ts'
import type { OutputPoint } from './output-point.ts'
import type { TokenChange, TokenStore } from './tokens.ts'

type TransactionStatus = 'pending' | 'confirmed' | 'dropped'
type Direction = 'receive' | 'send' | 'self'

/** What one transaction means for one address. */
export interface AddressEffect {
  readonly address: string
  readonly received: bigint
  readonly sent: bigint
  readonly direction: Direction
  readonly amount: bigint
  readonly counterparty: string | null
  /** Place in the written batch's `events` of the event about this confirmation; null without one. */
  readonly event: number | null
}

export interface TransactionRecord {
  readonly txId: string
  /** `{"tx_id":…,"inputs":…,"outputs":…,"tags":…}`, as it is served. */
  readonly parsed: string
  readonly fee: bigint | null
  readonly effects: readonly AddressEffect[]
}

export interface AcceptedTransaction extends TransactionRecord {
  /** One for each covenant in it; left out: none. */
  readonly covenants?: readonly CovenantChange[]
  readonly tokens?: readonly TokenChange[]
  /** Places in the written batch's `events` of those that are taken back when the block leaves the chain. */
  readonly retractable?: readonly number[]
  /** The block whose copy was accepted. */
  readonly blockHash: string
  readonly blockTimeMs: number
}

export interface DroppedTransaction {
  readonly txId: string
  /** The transaction that spends the same output, where one is known. */
  readonly replacedBy: string | null
}

export interface ChainBlock {
  readonly hash: string
  readonly blueScore: number
  readonly daaScore: number
  readonly timeMs: number
}

export interface AddedBlock extends ChainBlock {
  readonly transactions: readonly AcceptedTransaction[]
}

export interface ChainGap {
  readonly atMs: number
  /** The last block that was followed before, and the first one after. */
  readonly fromHash: string
  readonly fromBlueScore: number
  readonly fromTimeMs: number
  readonly toHash: string
  readonly toTimeMs: number
  /**
   * pruned: nothing in between was indexed. blocks_pruned: blocks in between were not reported, the chain is complete.
   * unreadable: transactions of the block `toHash` are in a form that this release does not know.
   */
  readonly reason: 'pruned' | 'blocks_pruned' | 'unreadable'
  readonly txIds?: readonly string[]
}

/** A block of the followed chain, by which its place is found again when the block itself has left the chain. */
export type ChainPlace = Pick<ChainBlock, 'hash' | 'blueScore'>

/** Everything of one step; either all of it is written or nothing. Applied in the order of the members. */
export interface ChainWrite {
  readonly atMs: number
  /** Hash of the checkpoint that the batch was made for; null before the first start. */
  readonly expects: string | null
  /** The followed chain starts again at this block (first start, or after a gap). */
  readonly start?: ChainBlock
  readonly gaps?: readonly ChainGap[]
  /** Chain blocks that left, tip first: what they accepted is pending again. */
  readonly removed?: readonly string[]
  /** What was not seen may have changed tokens: all their entries are forgotten. A `start` does so by itself. */
  readonly forgetTokens?: boolean
  readonly added?: readonly AddedBlock[]
  /** Seen before they were accepted. Of a known one only its being pending again is written. */
  readonly entered?: readonly TransactionRecord[]
  /** Only pending ones become dropped. */
  readonly dropped?: readonly DroppedTransaction[]
  /** Blocks of the DAG, in the chain or not; remembered for a while, so that each is reported once. */
  readonly seen?: readonly string[]
  /** All blocks of the DAG below this one were seen. */
  readonly seenTo?: ChainPlace
  readonly events?: readonly NewEvent[]
}

export interface ChainWritten {
  /** The newest number of the event log. */
  readonly newestSeq: number
  readonly checkpoint: ChainBlock | undefined
}

/** Another indexer has written meanwhile: what the batch was made from is out of date. Nothing was written. */
export class CheckpointMovedError extends Error {
  override readonly name = 'CheckpointMovedError'
  constructor(expected: string | null, found: string | null) {
    super(`the checkpoint is ${found ?? 'not set'}, not ${expected ?? 'unset'} as the write expects`)
  }
}

export interface TransactionRow {
  readonly txId: string
  readonly status: TransactionStatus
  readonly parsed: string
  readonly fee: bigint | null
  readonly blockHash: string | null
  readonly blockTimeMs: number | null
  readonly acceptingBlockHash: string | null
  readonly acceptingBlockTimeMs: number | null
  readonly acceptingBlueScore: number | null
  /** Of a dropped one, where it is known. */
  readonly replacedBy: string | null
  readonly firstSeenMs: number
}

/** A confirmation as it was written, to be undone. */
export interface Confirmation {
  readonly txId: string
  readonly parsed: string
  readonly acceptingBlockHash: string
  readonly acceptingDaaScore: number
  readonly events: readonly { readonly address: string; readonly eventId: string }[]
}

export interface AddressRow {
  readonly txId: string
  readonly direction: Direction
  readonly amount: bigint
  readonly received: bigint
  readonly sent: bigint
  readonly counterparty: string | null
  readonly status: TransactionStatus
  readonly blockTimeMs: number | null
  readonly place: HistoryPlace
}

/**
 * A row's place in the history of its address; newer ones are higher, by time and then by rank. Confirmed ones have
 * the time of their block and their rank in the order of acceptance, pending ones come after all of those in the order
 * in which they were first seen, dropped ones have the time at which they were first seen.
 */
export interface HistoryPlace {
  readonly timeMs: number
  readonly rank: number
}

export interface AddressPage {
  readonly rows: readonly AddressRow[]
  readonly hasMore: boolean
}

export interface AddressMovedQuery {
  readonly address: string
  readonly afterMs: number
  readonly after?: HistoryPlace
  readonly limit: number
}

export interface AddressMoved {
  readonly received: bigint
  readonly sent: bigint
  readonly rows: number
  /** Where the next step begins; undefined after the last one. */
  readonly next: HistoryPlace | undefined
}

export interface KnownTransaction {
  readonly status: TransactionStatus
  /** An event reported it as `mempool_entry`, and as accepted, at least once. */
  readonly hasMempoolEvent: boolean
  readonly hasAcceptedEvent: boolean
}

export interface IndexedOutput {
  readonly amount: bigint
  readonly scriptPublicKey: string
  readonly covenantId: string | null
}

export interface IndexRetention {
  /** Age of confirmed transactions, since they were first seen and since their block; null retains them forever. */
  readonly maxTransactionAgeMs: number | null
  readonly maxDroppedAgeMs: number
  /** This many blocks of the followed chain are retained, to find a common block after a reorganisation. */
  readonly chainBlocks: number
  /**
   * Age of recorded blocks, from now and from the newest of them: after a time without a node, its blocks are compared with
   * the last ones before it, however long it was.
   */
  readonly maxSeenAgeMs: number
}

export interface ChainStore extends CovenantStore, TokenStore {
  /** Rejects with `CheckpointMovedError` when the checkpoint is not the expected one. */
  write(batch: ChainWrite): Promise<ChainWritten>
  /** The last chain block that was applied. */
  checkpoint(): Promise<ChainBlock | undefined>
  /** Below which block of the chain all blocks of the DAG were seen; undefined until that is written. */
  seenTo(): Promise<ChainPlace | undefined>
  /** From when on every transaction is indexed: after the last gap of the chain. Undefined before the first start. */
  coverageFromMs(): Promise<number | undefined>
  /** From when on transactions are indexed, but for the gaps; undefined before the first start. */
  indexedFromMs(): Promise<number | undefined>
  /** The newest recorded ones, oldest first; at most a thousand unless a limit is given. */
  gaps(limit?: number): Promise<ChainGap[]>
  /** The chain block that many steps below the checkpoint; the oldest stored one where it is further. */
  chainBlockBelow(steps: number): Promise<ChainBlock | undefined>
  /** The followed chain above a block (oldest first, the block itself left out); undefined when it is not on it. */
  chainAbove(hash: string): Promise<ChainBlock[] | undefined>
  /** Those of the blocks that are on the followed chain, in the order given. */
  followed(hashes: readonly string[]): Promise<string[]>
  /** What these chain blocks confirmed, newest confirmation first. */
  confirmedBy(hashes: readonly string[]): Promise<Confirmation[]>
  known(txIds: readonly string[]): Promise<Map<string, KnownTransaction>>
  /** Those of the blocks that were not written as seen. */
  unseen(hashes: readonly string[]): Promise<string[]>
  /** Ids of the pending transactions, oldest first; with a time only those that became pending after it. */
  pending(limit: number, afterMs?: number): Promise<string[]>
  /** Outputs of indexed transactions, in the order asked, for inputs that the node did not resolve. */
  outputs(points: readonly OutputPoint[]): Promise<(IndexedOutput | undefined)[]>
  transaction(txId: string): Promise<TransactionRow | undefined>
  /** Newest first; `before` is the place of the last row of the page before. */
  addressPage(query: { address: string; limit: number; before?: HistoryPlace }): Promise<AddressPage>
  /**
   * What confirmed transactions with blocks after a time have moved, in steps: of at most `limit` rows, oldest first,
   * after the place at which the step before ended.
   */
  addressMoved(query: AddressMovedQuery): Promise<AddressMoved>
  prune(retention: IndexRetention): Promise<{ deleted: number; more: boolean }>
}

/** The index and the log of an environment: opened, written and closed together. */
export interface ChainStores {
  readonly chain: ChainStore
  readonly events: EventStore
  close(): Promise<void>
}
