/**
 * The consensus state of one node as a pure state machine: blocks go in, changes come out. It uses no clock, no
 * sockets and no randomness, so two ledgers that get the same blocks in the same order are equal.
 *
 *   block ─▶ ghostdag ─▶ sink = heaviest tip ─▶ undo the virtual and the abandoned chain blocks
 *                                            ─▶ apply the new chain blocks ─▶ apply the virtual again
 *
 * A chain block accepts the transactions of its merge set; the virtual is the block that would come next.
 */

import { type Acceptance, acceptMergeSet, emptyAcceptance } from './accept.ts'
import { BlockRecord, type SavedRecord } from './block-record.ts'
import { type Ghostdag, ghostdag, heaviest } from './ghostdag.ts'
import type { Block, UtxoEntry } from './model.ts'
import { type UtxoDifference, UtxoSet } from './utxo-set.ts'

export interface LedgerRules {
  /** The DAA score distance after which a coinbase output may be spent. */
  coinbaseMaturity: number
  ghostdagK: number
  /** Blocks kept before the sink; older ones are pruned. */
  keepBlocks: number
  workPerBlock: bigint
}

interface Virtual extends Ghostdag {
  parents: string[]
  acceptance: Acceptance
}

export interface LedgerUpdate {
  block: Block
  /** From the old tip backwards. */
  removedChain: string[]
  /** From the common ancestor forwards. */
  addedChain: string[]
  utxos: UtxoDifference
  virtualDaaScore: bigint
  sinkBlueScore: bigint
}

export interface LedgerSnapshot {
  records: SavedRecord[]
  chain: string[]
  chainOffset: number
  utxos: [string, UtxoEntry][]
  tips: string[]
  nextSeq: number
  pruningPoint: string
}

const MAX_PARENTS = 16
/** Pruning works in steps to spread its cost; the steps are smaller if few blocks are kept. */
const PRUNE_SLACK = 256
const PRUNE_SLACK_SHARE = 0.25
/** The newest blocks, which consensus and followers read all the time, stay unpacked. */
const UNPACKED_BLOCKS = 512
const PACKED_TOGETHER = 64

export class Ledger {
  readonly rules: LedgerRules
  readonly utxos = new UtxoSet()
  readonly #records = new Map<string, BlockRecord>()
  readonly #chainIndex = new Map<string, number>()
  readonly #mergedBy = new Map<string, string>()
  #chain: string[] = []
  #chainOffset = 0
  #tips = new Set<string>()
  #nextSeq = 0
  #pruningPoint: string
  #virtual: Virtual

  /** Starts from a block whose past is unknown and from the unspent outputs at that point. */
  constructor(
    rules: LedgerRules,
    start: { block: Block; utxos: Iterable<[string, UtxoEntry]> } | LedgerSnapshot,
  ) {
    this.rules = rules
    for (const [key, entry] of start.utxos) this.utxos.apply({ key, entry, created: true })
    if ('block' in start) {
      const { hash } = start.block.header
      this.#insert(start.block, { selectedParent: undefined, blues: [], reds: [] })
      this.#chain = [hash]
      this.#chainIndex.set(hash, 0)
      this.#pruningPoint = hash
      const record = this.#records.get(hash)
      if (record !== undefined) record.acceptance = emptyAcceptance()
    } else {
      for (const saved of start.records) this.#records.set(saved.hash, new BlockRecord(saved))
      this.#chain = [...start.chain]
      this.#chainOffset = start.chainOffset
      this.#chain.forEach((hash, i) => void this.#markChain(hash, i + this.#chainOffset))
      this.#tips = new Set(start.tips)
      this.#nextSeq = start.nextSeq
      this.#pruningPoint = start.pruningPoint
      const sink = heaviest(this.#records, this.#tips)
      if (sink !== undefined) this.#moveChain(sink.block.header.hash)
    }
    this.#virtual = this.#computeVirtual()
  }

  get virtual(): Virtual {
    return this.#virtual
  }

  get sink(): Block {
    const record = this.#records.get(this.#chain.at(-1) ?? '')
    if (record === undefined) throw new Error('the selected chain is empty')
    return record.block
  }

  get tips(): string[] {
    return [...this.#tips]
  }

  get pruningPoint(): string {
    return this.#pruningPoint
  }

  get blockCount(): number {
    return this.#records.size
  }

  /** The retained part of the selected chain, oldest first. */
  get chain(): readonly string[] {
    return this.#chain
  }

  record(hash: string): BlockRecord | undefined {
    return this.#records.get(hash)
  }

  records(): IterableIterator<BlockRecord> {
    return this.#records.values()
  }

  isChainBlock(hash: string): boolean {
    return this.#chainIndex.has(hash)
  }

  /** Position in `chain`, or -1. */
  chainPosition(hash: string): number {
    const index = this.#chainIndex.get(hash)
    return index === undefined ? -1 : index - this.#chainOffset
  }

  /** The chain block that merged a block, if it is merged already. */
  mergedBy(hash: string): string | undefined {
    return this.#mergedBy.get(hash)
  }

  /** What a block with these parents would be and accept. Does not change the ledger. */
  preview(parents: readonly string[]): { ghostdag: Ghostdag; acceptance: Acceptance } {
    return this.inContext(parents, (context) => context)
  }

  /** Like `preview`, but calls `look` while the unspent outputs are those that such a block sees. */
  inContext<T>(
    parents: readonly string[],
    look: (context: { ghostdag: Ghostdag; acceptance: Acceptance }) => T,
  ): T {
    const same =
      parents.length === this.#virtual.parents.length &&
      parents.every((p) => this.#virtual.parents.includes(p))
    if (same) return look({ ghostdag: this.#virtual, acceptance: this.#virtual.acceptance })
    const data = ghostdag(this.#records, parents, this.rules.ghostdagK, this.rules.workPerBlock)
    const sink = this.#chain.at(-1) ?? ''
    this.utxos.undo(this.#virtual.acceptance.log)
    this.#moveChain(data.selectedParent ?? sink)
    const acceptance = this.#accept(data)
    const seen = look({ ghostdag: data, acceptance })
    this.utxos.undo(acceptance.log)
    this.#moveChain(sink)
    this.utxos.redo(this.#virtual.acceptance.log)
    return seen
  }

  /** Returns undefined for a block that is already known; throws if a parent is missing. */
  apply(block: Block): LedgerUpdate | undefined {
    const { hash, parentsByLevel } = block.header
    if (this.#records.has(hash)) return undefined
    const parents = parentsByLevel[0] ?? []
    const missing = parents.find((parent) => !this.#records.has(parent))
    if (missing !== undefined || parents.length === 0)
      throw new Error(`parent ${missing} of ${hash} is missing`)
    const data = ghostdag(this.#records, parents, this.rules.ghostdagK, this.rules.workPerBlock)
    this.#insert(block, data)
    const changes = this.utxos.watch()
    this.utxos.undo(this.#virtual.acceptance.log)
    const sink = heaviest(this.#records, this.#tips)
    const moved = this.#moveChain(sink?.block.header.hash ?? hash)
    this.#virtual = this.#computeVirtual()
    const utxos = changes()
    this.#packOld()
    this.#prune()
    return {
      block,
      removedChain: moved.removed,
      addedChain: moved.added,
      utxos,
      virtualDaaScore: this.#virtual.daaScore,
      sinkBlueScore: this.sink.header.blueScore,
    }
  }

  snapshot(): LedgerSnapshot {
    this.utxos.undo(this.#virtual.acceptance.log)
    const utxos = [...this.utxos.entries()]
    this.utxos.redo(this.#virtual.acceptance.log)
    return {
      records: [...this.#records.values()].map((record) => record.saved()),
      chain: this.#chain,
      chainOffset: this.#chainOffset,
      utxos,
      tips: [...this.#tips],
      nextSeq: this.#nextSeq,
      pruningPoint: this.#pruningPoint,
    }
  }

  #insert(block: Block, data: Pick<Ghostdag, 'selectedParent' | 'blues' | 'reds'>): void {
    const { hash, daaScore, parentsByLevel } = block.header
    const parents = parentsByLevel[0] ?? []
    const { selectedParent, blues, reds } = data
    const seq = this.#nextSeq++
    const links = { hash, seq, daaScore, parents, selectedParent, blues, reds, children: [] }
    const content = { block, acceptance: undefined }
    this.#records.set(hash, new BlockRecord({ ...links, content }))
    for (const parent of parents) {
      this.#records.get(parent)?.children.push(hash)
      this.#tips.delete(parent)
    }
    this.#tips.add(hash)
  }

  #accept(data: Ghostdag): Acceptance {
    return acceptMergeSet(this.#records, this.utxos, this.rules.coinbaseMaturity, data)
  }

  #computeVirtual(): Virtual {
    const tips = [...this.#tips].sort()
    const sink = heaviest(this.#records, tips)?.block.header.hash ?? ''
    const parents = [sink, ...tips.filter((tip) => tip !== sink)].slice(0, MAX_PARENTS)
    const data = ghostdag(this.#records, parents, this.rules.ghostdagK, this.rules.workPerBlock)
    return { ...data, parents, acceptance: this.#accept(data) }
  }

  #markChain(hash: string, index: number): void {
    this.#chainIndex.set(hash, index)
    const record = this.#records.get(hash)
    for (const merged of [...(record?.blues ?? []), ...(record?.reds ?? [])]) this.#mergedBy.set(merged, hash)
  }

  #moveChain(target: string): { removed: string[]; added: string[] } {
    const added: string[] = []
    let at: string | undefined = target
    while (at !== undefined && !this.#chainIndex.has(at)) {
      added.push(at)
      at = this.#records.get(at)?.selectedParent
    }
    if (at === undefined) throw new Error(`${target} does not reach the selected chain`)
    const removed: string[] = []
    while (this.#chain.at(-1) !== at) {
      const hash = this.#chain.pop()
      if (hash === undefined) throw new Error('the selected chain is empty')
      removed.push(hash)
      this.#chainIndex.delete(hash)
      const record = this.#records.get(hash)
      if (record === undefined) continue
      this.utxos.undo(record.acceptance?.log ?? [])
      for (const merged of [...record.blues, ...record.reds]) this.#mergedBy.delete(merged)
    }
    added.reverse()
    for (const hash of added) this.#extendChain(hash)
    return { removed, added }
  }

  #extendChain(hash: string): void {
    const record = this.#records.get(hash)
    if (record === undefined) throw new Error(`${hash} is not known`)
    if (record.acceptance === undefined) {
      const { header } = record.block
      record.acceptance = this.#accept({ ...record, ...header, daaScore: header.daaScore })
    } else {
      this.utxos.redo(record.acceptance.log)
    }
    this.#chain.push(hash)
    this.#markChain(hash, this.#chainOffset + this.#chain.length - 1)
  }

  #packOld(): void {
    if (this.#nextSeq % PACKED_TOGETHER !== 0) return
    const old: BlockRecord[] = []
    for (const record of this.#records.values()) {
      if (record.seq >= this.#nextSeq - UNPACKED_BLOCKS) break
      if (!record.isPacked) old.push(record)
    }
    for (let at = 0; at + PACKED_TOGETHER <= old.length; at += PACKED_TOGETHER) {
      BlockRecord.pack(old.slice(at, at + PACKED_TOGETHER))
    }
  }

  #prune(): void {
    const { keepBlocks } = this.rules
    if (this.#records.size <= keepBlocks + Math.min(PRUNE_SLACK, keepBlocks * PRUNE_SLACK_SHARE)) return
    const floor = this.#nextSeq - keepBlocks
    const at = this.#wholeFrom(this.#chain.findIndex((hash) => (this.#records.get(hash)?.seq ?? 0) >= floor))
    const point = this.#records.get(this.#chain[at] ?? '')
    if (at <= 0 || point === undefined) return
    for (const hash of this.#chain.splice(0, at)) this.#chainIndex.delete(hash)
    this.#chainOffset += at
    this.#pruningPoint = point.block.header.hash
    for (const [hash, record] of this.#records) {
      if (record.seq >= point.seq) break
      this.#records.delete(hash)
      this.#mergedBy.delete(hash)
      this.#tips.delete(hash)
    }
  }

  /**
   * The highest position in the chain, at most `highest`, above which no chain block merges anything older. A node has
   * the whole merge set of every chain block that it keeps, because it keeps the anticone of its pruning point.
   */
  #wholeFrom(highest: number): number {
    let oldestMerged = Number.POSITIVE_INFINITY
    for (let at = this.#chain.length - 1; at > 0; at--) {
      const record = this.#records.get(this.#chain[at] ?? '')
      if (record === undefined) continue
      if (at <= highest && record.seq <= oldestMerged) return at
      for (const merged of [...record.blues, ...record.reds])
        oldestMerged = Math.min(oldestMerged, this.#records.get(merged)?.seq ?? 0)
    }
    return 0
  }
}
