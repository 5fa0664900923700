/**
 * What is needed to decide when a pending transaction is dropped: where it was last seen and what it spends.
 *
 *   in a mempool ──the same node no longer has it, and a rival is in its mempool──────▶ due at once (replaced)
 *                ──the same node has not had it for EVICTED_AFTER_MS, nor has a block──▶ due (evicted)
 *   in a block, or known from another node ──not seen for `dropAfterMs`────────────────▶ due
 *
 * The long wait covers the time between a block and its acceptance, and a switch to a node that does not have the
 * transaction yet. A restarted node has an empty mempool without having evicted anything, so it counts as another node.
 */
import type { Outpoint } from '../core/chain/transaction.ts'
import type { DroppedTransaction } from '../store/chain.ts'

interface Pending {
  seenMs: number
  /** The mempool in which it was last seen; undefined if in none since it became pending. */
  mempool: string | undefined
  isInBlock: boolean
  /** It was last seen as an orphan, so the node does not know its inputs. */
  isOrphan: boolean
  /** The rows of its addresses are written. False if that is unknown, as for one that was read from the store. */
  hasRows: boolean
  spends: readonly string[]
}

/** A transaction that leaves the mempool for a block is notified with that block within this time. */
const EVICTED_AFTER_MS = 3_000
/**
 * Blocks must have been recorded for this long after it was last seen; otherwise it may be in a block that is still on
 * its way.
 */
const BLOCKS_AFTER_MS = 1_000
/** The mempool is polled more often while the last transaction entered less than this long ago. */
const FLOW_MS = 5_000
const MAX_DROPPED = 2_000
/** Outputs whose spenders are remembered. Beyond this number, a drop does not name the replacing transaction. */
const MAX_OUTPOINTS = 1_000_000

export class PendingTransactions {
  readonly #dropAfterMs: number
  readonly #pending = new Map<string, Pending>()
  readonly #spenders = new Map<string, string[]>()
  #enteredMs = Number.NEGATIVE_INFINITY
  #blocksMs = Number.NEGATIVE_INFINITY

  constructor(options: { txIds: readonly string[]; atMs: number; dropAfterMs: number }) {
    this.#dropAfterMs = options.dropAfterMs
    this.restore(options.txIds, options.atMs)
  }

  /** Forgets the transactions that are not among these. */
  keepOnly(txIds: ReadonlySet<string>): void {
    for (const txId of [...this.#pending.keys()]) if (!txIds.has(txId)) this.leave(txId)
  }

  /** Adds the stored transactions that are not known yet. Where they were last seen is unknown. */
  restore(txIds: readonly string[], atMs: number): void {
    for (const txId of txIds) if (!this.#pending.has(txId)) this.#add(txId, { atMs, hasRows: false })
  }

  has(txId: string): boolean {
    return this.#pending.has(txId)
  }

  /** It is in this mempool now. `spends` is called only if its inputs are not known yet. */
  inMempool(
    txId: string,
    { mempool, atMs, isOrphan = false }: { mempool: string; atMs: number; isOrphan?: boolean },
    spends: () => readonly Outpoint[],
  ): void {
    const known = this.#pending.get(txId)
    if (known === undefined) this.#enteredMs = atMs
    const entry = known ?? this.#add(txId, { atMs, hasRows: false })
    Object.assign(entry, { seenMs: atMs, mempool, isInBlock: false, isOrphan })
    if (entry.spends.length === 0) this.#setSpends(txId, entry, spends())
  }

  /** It is in a recorded block. `spends` is given when it is seen for the first time. */
  inBlock(txId: string, atMs: number, spends?: readonly Outpoint[]): void {
    const known = this.#pending.get(txId)
    if (known === undefined && spends === undefined) return
    if (known === undefined) this.#enteredMs = atMs
    const entry = known ?? this.#add(txId, { atMs, hasRows: true })
    Object.assign(entry, { seenMs: atMs, isInBlock: true, isOrphan: false })
    if (spends !== undefined) this.#setSpends(txId, entry, spends)
  }

  /** Whether the rows of its addresses may still have to be written. */
  mayLackRows(txId: string): boolean {
    return this.#pending.get(txId)?.hasRows === false
  }

  rowsWritten(txId: string): void {
    const entry = this.#pending.get(txId)
    if (entry !== undefined) entry.hasRows = true
  }

  /** All blocks received up to this time are recorded. */
  blocksRecorded(atMs: number): void {
    this.#blocksMs = atMs
  }

  /** Restarts the wait of all transactions, because nothing could be learned about them for a while. */
  waitAnew(atMs: number): void {
    for (const entry of this.#pending.values()) entry.seenMs = Math.max(entry.seenMs, atMs)
  }

  /**
   * Part of the chain is lost. The transactions may have been accepted there, so they must not be reported as dropped.
   */
  forget(): void {
    this.#pending.clear()
    this.#spenders.clear()
  }

  /** It was accepted or dropped. */
  leave(txId: string): void {
    const entry = this.#pending.get(txId)
    if (entry === undefined) return
    this.#pending.delete(txId)
    for (const key of entry.spends) {
      const left = (this.#spenders.get(key) ?? []).filter((other) => other !== txId)
      if (left.length === 0) this.#spenders.delete(key)
      else this.#spenders.set(key, left)
    }
  }

  /** Other pending transactions that spend one of these outputs. */
  rivalsOf(txId: string, spends: readonly Outpoint[]): string[] {
    return spends
      .flatMap((point) => this.#spenders.get(outpointKey(point)) ?? [])
      .filter((other) => other !== txId)
  }

  /** The transactions to drop, after an answer of this mempool was applied at `atMs`. */
  due(mempool: string, atMs: number): DroppedTransaction[] {
    const due: DroppedTransaction[] = []
    for (const [txId, entry] of this.#pending) {
      if (entry.seenMs >= atMs) continue
      if (due.length >= MAX_DROPPED) break
      const rival = this.#rivalOf(txId, entry, mempool, atMs)
      const isReplaced = rival?.isThere === true && entry.mempool === mempool && !entry.isInBlock
      if (!isReplaced && !this.#isOver(entry, mempool, atMs)) continue
      due.push({ txId, replacedBy: rival?.txId ?? null })
    }
    return due
  }

  isFlowing(atMs: number): boolean {
    return atMs - this.#enteredMs < FLOW_MS
  }

  #isOver(entry: Pending, mempool: string, atMs: number): boolean {
    const absentMs = atMs - entry.seenMs
    if (absentMs > this.#dropAfterMs) return true
    const isAnswered = entry.mempool === mempool && !entry.isInBlock
    const hasBlocks = this.#blocksMs - entry.seenMs >= BLOCKS_AFTER_MS
    return isAnswered && hasBlocks && absentMs >= EVICTED_AFTER_MS
  }

  /**
   * Prefers a rival that is in this mempool now. Orphans do not count: an orphan may spend outputs that the other
   * transaction, by now in a block, has already spent, and anyone can create one.
   */
  #rivalOf(txId: string, { spends }: Pending, mempool: string, atMs: number) {
    let found: { txId: string; isThere: boolean } | undefined
    for (const key of spends) {
      for (const other of this.#spenders.get(key) ?? []) {
        if (other === txId) continue
        const rival = this.#pending.get(other)
        if (rival?.isOrphan === true) continue
        const isThere = rival?.mempool === mempool && rival.seenMs >= atMs
        if (isThere || found === undefined) found = { txId: other, isThere }
        if (isThere) return found
      }
    }
    return found
  }

  #add(txId: string, { atMs, hasRows }: { atMs: number; hasRows: boolean }): Pending {
    const entry: Pending = {
      ...{ seenMs: atMs, mempool: undefined, isInBlock: false },
      ...{ isOrphan: false, hasRows, spends: [] },
    }
    this.#pending.set(txId, entry)
    return entry
  }

  #setSpends(txId: string, entry: Pending, points: readonly Outpoint[]): void {
    if (entry.spends.length > 0 || this.#spenders.size + points.length > MAX_OUTPOINTS) return
    entry.spends = points.map(outpointKey)
    for (const key of entry.spends) {
      const others = this.#spenders.get(key)
      if (others === undefined) this.#spenders.set(key, [txId])
      else others.push(txId)
    }
  }
}

export function outpointKey({ transactionId, index }: Outpoint): string {
  return `${transactionId}:${index}`
}
