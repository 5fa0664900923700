/**
 * The chain index: transactions with their status, the rows of every address, the followed chain, and how far it was
 * followed. Index rows and the events about them are written in one transaction (`write`). Only one indexer writes, so
 * its own reads stay valid between two writes.
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

/** The effect of one transaction on one address. */
export interface AddressEffect {
  readonly address: string
  readonly received: bigint
  readonly sent: bigint
  readonly direction: Direction
  readonly amount: bigint
  readonly counterparty: string | null
  /** Index, in the batch's `events`, of the event about this confirmation; null if there is none. */
  readonly event: number | null
}

export interface TransactionRecord {
  readonly txId: string
  /** `{"tx_id":…,"inputs":…,"outputs":…,"tags":…}`, as the API serves it. */
  readonly parsed: string
  readonly fee: bigint | null
  readonly effects: readonly AddressEffect[]
}

export interface AcceptedTransaction extends TransactionRecord {
  /** One for each covenant in the transaction; omitted when there are none. */
  readonly covenants?: readonly CovenantChange[]
  readonly tokens?: readonly TokenChange[]
  /** Indexes, in the batch's `events`, of the events that are retracted when the block leaves the chain. */
  readonly retractable?: readonly number[]
  /** The block whose copy of the transaction was accepted. */
  readonly blockHash: string
  readonly blockTimeMs: number
}

export interface DroppedTransaction {
  readonly txId: string
  /** The transaction that spends the same output, if known. */
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
  /** The last block followed before the gap, and the first one after it. */
  readonly fromHash: string
  readonly fromBlueScore: number
  readonly fromTimeMs: number
  readonly toHash: string
  readonly toTimeMs: number
  /**
   * pruned: nothing in between was indexed. blocks_pruned: the chain is complete, but blocks in between were not
   * reported. unreadable: transactions of the block `toHash` have a format that this release does not know.
   */
  readonly reason: 'pruned' | 'blocks_pruned' | 'unreadable'
  readonly txIds?: readonly string[]
}

/** A block of the followed chain. The blue score gives its place even after the block itself has left the chain. */
export type ChainPlace = Pick<ChainBlock, 'hash' | 'blueScore'>

/** All changes of one step, written together or not at all. They are applied in the order of the members. */
export interface ChainWrite {
  readonly atMs: number
  /** Hash of the checkpoint that the batch was built on; null before the first start. */
  readonly expects: string | null
  /** Restarts the followed chain at this block, on the first start or after a gap. */
  readonly start?: ChainBlock
  readonly gaps?: readonly ChainGap[]
  /** Chain blocks that left the chain, tip first; the transactions they accepted are pending again. */
  readonly removed?: readonly string[]
  /**
   * Deletes all token entries, because transactions that were not seen may have changed them. A `start` always does so.
   */
  readonly forgetTokens?: boolean
  readonly added?: readonly AddedBlock[]
  /**
   * Transactions seen before they were accepted. A known one only becomes pending again, unless it has no address rows
   * yet (it was an orphan): then its rows, text and fee are written as well.
   */
  readonly entered?: readonly TransactionRecord[]
  /** Only pending transactions become dropped. */
  readonly dropped?: readonly DroppedTransaction[]
  /** Blocks of the DAG, on the chain or not. They are remembered for a while, so that each is reported only once. */
  readonly seen?: readonly string[]
  /** Every block of the DAG below this one was seen. */
  readonly seenTo?: ChainPlace
  readonly events?: readonly NewEvent[]
}

export interface ChainWritten {
  /** The newest sequence number of the event log. */
  readonly newestSeq: number
  readonly checkpoint: ChainBlock | undefined
}

/** Another indexer has written in the meantime, so the batch is out of date. Nothing was written. */
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
  /** Only for dropped transactions, if known. */
  readonly replacedBy: string | null
  readonly firstSeenMs: number
}

/** A stored confirmation, as needed to undo it. */
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
 * A row's place in the history of its address, by time and then by rank; newer rows are higher. Confirmed rows have the
 * time of their block and their rank in the order of acceptance. Pending rows come after all of those, in the order in
 * which they were first seen. Dropped rows have the time at which they were first seen.
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
  /** Where the next step begins; undefined after the last step. */
  readonly next: HistoryPlace | undefined
}

export interface KnownTransaction {
  readonly status: TransactionStatus
  /** Whether the transaction was ever reported as `mempool_entry`, and as accepted. */
  readonly hasMempoolEvent: boolean
  readonly hasAcceptedEvent: boolean
}

export interface IndexedOutput {
  readonly amount: bigint
  readonly scriptPublicKey: string
  readonly covenantId: string | null
}

export interface IndexRetention {
  /**
   * Maximum age of confirmed transactions, both since they were first seen and since their block; null keeps them
   * forever.
   */
  readonly maxTransactionAgeMs: number | null
  readonly maxDroppedAgeMs: number
  /** Blocks of the followed chain to keep, so that a common block is found after a reorganisation. */
  readonly chainBlocks: number
  /**
   * Maximum age of seen blocks, measured both from now and from the newest seen block. After an outage of any length,
   * the node's blocks can therefore still be compared with the last ones before it.
   */
  readonly maxSeenAgeMs: number
}

export interface ChainStore extends CovenantStore, TokenStore {
  /** Rejects with `CheckpointMovedError` when the checkpoint is not the one the batch expects. */
  write(batch: ChainWrite): Promise<ChainWritten>
  /** The last chain block that was applied. */
  checkpoint(): Promise<ChainBlock | undefined>
  /** The chain block below which every block of the DAG was seen; undefined until it is first written. */
  seenTo(): Promise<ChainPlace | undefined>
  /**
   * The time since which every transaction is indexed, after the last gap of the chain. Undefined before the first
   * start.
   */
  coverageFromMs(): Promise<number | undefined>
  /** The time since which transactions are indexed, apart from the gaps; undefined before the first start. */
  indexedFromMs(): Promise<number | undefined>
  /** The newest recorded gaps, oldest first; at most a thousand unless a limit is given. */
  gaps(limit?: number): Promise<ChainGap[]>
  /** The chain block this many steps below the checkpoint, or the oldest stored one if that is too far. */
  chainBlockBelow(steps: number): Promise<ChainBlock | undefined>
  /**
   * The followed chain above a block, oldest first and without the block itself; undefined if the block is not on it.
   */
  chainAbove(hash: string): Promise<ChainBlock[] | undefined>
  /** The given blocks that are on the followed chain, in the order given. */
  followed(hashes: readonly string[]): Promise<string[]>
  /** The confirmations by these chain blocks, newest first. */
  confirmedBy(hashes: readonly string[]): Promise<Confirmation[]>
  known(txIds: readonly string[]): Promise<Map<string, KnownTransaction>>
  /** The given blocks that were not recorded as seen. */
  unseen(hashes: readonly string[]): Promise<string[]>
  /** Ids of pending transactions, oldest first; with `afterMs` only those that became pending after that time. */
  pending(limit: number, afterMs?: number): Promise<string[]>
  /** Outputs of indexed transactions, in the order of the points, for inputs that the node did not resolve. */
  outputs(points: readonly OutputPoint[]): Promise<(IndexedOutput | undefined)[]>
  transaction(txId: string): Promise<TransactionRow | undefined>
  /** Newest first; `before` is the place of the last row on the previous page. */
  addressPage(query: { address: string; limit: number; before?: HistoryPlace }): Promise<AddressPage>
  /**
   * Sums what confirmed transactions with a block time after `afterMs` moved. Each call adds up at most `limit` rows,
   * oldest first, starting after the place where the previous call ended.
   */
  addressMoved(query: AddressMovedQuery): Promise<AddressMoved>
  prune(retention: IndexRetention): Promise<{ deleted: number; more: boolean }>
}

/** The index and the event log of one environment: they are opened, written and closed together. */
export interface ChainStores {
  readonly chain: ChainStore
  readonly events: EventStore
  close(): Promise<void>
}
