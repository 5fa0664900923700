/**
 * The pending transactions, as far as dropping them needs: where each was seen last, and what it spends.
 *
 *   in a mempool ──the same node no longer has it, and a rival is in its mempool──────▶ due at once (replaced)
 *                ──the same node has not had it for EVICTED_AFTER_MS, nor has a block──▶ due (evicted)
 *   in a block, or known from another node ──not seen for `dropAfterMs`────────────────▶ due
 *
 * The long wait covers the interval between a block and its acceptance, and a change to a node that has not got the
 * transaction yet. A node that was restarted has an empty mempool and evicted nothing: it counts as another node.
 */
import type { Outpoint } from '../core/chain/transaction.ts'
import type { DroppedTransaction } from '../store/chain.ts'

interface Pending {
  seenMs: number
  /** The mempool in which it was seen last; undefined: in none since it became pending. */
  mempool: string | undefined
  isInBlock: boolean
  spends: readonly string[]
}

/** A transaction leaves the mempool for a block; the block's notification arrives within this time. */
const EVICTED_AFTER_MS = 3_000
/** Blocks must have been recorded that long after it was last seen: otherwise it may be in one that is on its way. */
const BLOCKS_AFTER_MS = 1_000
/** While transactions enter, or did so this recently, the mempool is asked more often. */
const FLOW_MS = 5_000
const MAX_DROPPED = 2_000
/** Outputs whose spenders are remembered; beyond, a drop does not name what replaced it. */
const MAX_OUTPOINTS = 1_000_000

export class PendingTransactions {
  readonly #dropAfterMs: number
  readonly #pending: Map<string, Pending>
  readonly #spenders = new Map<string, string[]>()
  #enteredMs = Number.NEGATIVE_INFINITY
  #blocksMs = Number.NEGATIVE_INFINITY

  constructor(options: { txIds: readonly string[]; atMs: number; dropAfterMs: number }) {
    this.#dropAfterMs = options.dropAfterMs
    this.#pending = new Map(
      options.txIds.map((txId) => [
        txId,
        { seenMs: options.atMs, mempool: undefined, isInBlock: false, spends: [] },
      ]),
    )
  }

  has(txId: string): boolean {
    return this.#pending.has(txId)
  }

  /** In this mempool now. What it spends is asked for only where it is not known. */
  inMempool(txId: string, mempool: string, atMs: number, spends: () => readonly Outpoint[]): void {
    const known = this.#pending.get(txId)
    if (known === undefined) this.#enteredMs = atMs
    const entry = known ?? this.#add(txId, atMs)
    Object.assign(entry, { seenMs: atMs, mempool, isInBlock: false })
    if (entry.spends.length === 0) this.#setSpends(txId, entry, spends())
  }

  /** In a block that was recorded; `spends` where it is seen for the first time. */
  inBlock(txId: string, atMs: number, spends?: readonly Outpoint[]): void {
    const known = this.#pending.get(txId)
    if (known === undefined && spends === undefined) return
    if (known === undefined) this.#enteredMs = atMs
    const entry = known ?? this.#add(txId, atMs)
    Object.assign(entry, { seenMs: atMs, isInBlock: true })
    if (spends !== undefined) this.#setSpends(txId, entry, spends)
  }

  blocksRecorded(atMs: number): void {
    this.#blocksMs = atMs
  }

  /** Nothing could be known of them for a while: the wait begins again. */
  waitAnew(atMs: number): void {
    for (const entry of this.#pending.values()) entry.seenMs = Math.max(entry.seenMs, atMs)
  }

  /** Part of the chain is lost: whether they were accepted there is not known, and they are not called dropped. */
  forget(): void {
    this.#pending.clear()
    this.#spenders.clear()
  }

  /** Accepted, or dropped. */
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

  /** The pending transactions that spend one of these outputs too. */
  rivalsOf(txId: string, spends: readonly Outpoint[]): string[] {
    return spends
      .flatMap((point) => this.#spenders.get(outpointKey(point)) ?? [])
      .filter((other) => other !== txId)
  }

  /** After the answer of this mempool was taken in, at that time. */
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

  /** One that is in this mempool now, else any. */
  #rivalOf(txId: string, { spends }: Pending, mempool: string, atMs: number) {
    let found: { txId: string; isThere: boolean } | undefined
    for (const key of spends) {
      for (const other of this.#spenders.get(key) ?? []) {
        if (other === txId) continue
        const rival = this.#pending.get(other)
        const isThere = rival?.mempool === mempool && rival.seenMs >= atMs
        if (isThere || found === undefined) found = { txId: other, isThere }
        if (isThere) return found
      }
    }
    return found
  }

  #add(txId: string, atMs: number): Pending {
    const entry: Pending = { seenMs: atMs, mempool: undefined, isInBlock: false, spends: [] }
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
