/**
 * One node: its own ledger and mempool, fed by the chain. It may lag (blocks wait in a queue), and it tells
 * its listeners what happens.
 */

import { ledgerRules, mempoolLimits } from './chain.ts'
import type { AddressPrefix } from './consensus/address.ts'
import { isValidBlock } from './consensus/build-block.ts'
import { Ledger } from './consensus/ledger.ts'
import type { Block, Tx } from './consensus/model.ts'
import { rewind } from './consensus/rewind.ts'
import { TxRefusal } from './consensus/validate.ts'
import type { Faults } from './faults.ts'
import type { Feed, FeedEvent, FeedStart } from './feed.ts'
import { Mempool, type MempoolLimits, type SubmitRules } from './mempool.ts'
import { NETWORKS, type NetworkId } from './networks.ts'
import { RpcError } from './rpc/errors.ts'
import type { NodeEvent } from './rpc/notifications.ts'
import type { NodeView } from './rpc/view.ts'
import { createWire, type Wire } from './rpc/wire.ts'

/** Events that a lagging node holds back, at most; beyond that it is closer than it should be. */
const MAX_HELD = 50_000
/** Without a block for this long the node says that it is not synced. */
const SYNCED_WITHIN_MS = 60_000

export class SandboxNode implements NodeView {
  readonly nodeId: string
  readonly faults: () => Faults
  readonly counters = { connections: 0, attempts: 0, bytesIn: 0, bytesOut: 0, blocks: 0, transactions: 0 }
  readonly nowMs: () => number
  readonly #feed: Feed
  readonly #chainNetwork: NetworkId
  readonly #wires = new Map<AddressPrefix, Wire>()
  readonly #listeners = new Set<(event: NodeEvent) => void>()
  readonly blocksPerSecond: number
  readonly blockMass: number
  readonly #mempoolLimits: MempoolLimits
  #ledger: Ledger
  #mempool: Mempool
  #held: FeedEvent[] = []
  #headDaaScore = 0n
  #lastBlockAtMs: number

  constructor(options: {
    id: string
    feed: Feed
    start: FeedStart
    faults: () => Faults
    nowMs: () => number
  }) {
    const { start } = options
    this.nodeId = options.id
    this.#feed = options.feed
    this.faults = options.faults
    this.nowMs = options.nowMs
    this.#lastBlockAtMs = options.nowMs()
    this.#chainNetwork = start.options.network
    this.blocksPerSecond = start.options.blocksPerSecond
    this.blockMass = start.options.blockMass
    this.#mempoolLimits = mempoolLimits(start.options)
    this.#ledger = new Ledger(ledgerRules(start.options), start.ledger)
    this.#headDaaScore = this.#ledger.virtual.daaScore
    this.#mempool = this.#createMempool(start.mempool)
  }

  get ledger(): Ledger {
    return this.#ledger
  }

  get mempool(): Mempool {
    return this.#mempool
  }

  get network(): NetworkId {
    return this.faults().network ?? this.#chainNetwork
  }

  get wire(): Wire {
    const { prefix } = NETWORKS[this.network]
    const known = this.#wires.get(prefix) ?? createWire(prefix)
    this.#wires.set(prefix, known)
    return known
  }

  get isSynced(): boolean {
    const claimed = this.faults().claimSynced
    if (claimed !== null) return claimed
    return !this.isTransitional && this.nowMs() - this.#lastBlockAtMs < SYNCED_WITHIN_MS
  }

  get hasUtxoIndex(): boolean {
    return this.faults().utxoIndex
  }

  get isTransitional(): boolean {
    return this.faults().transitional
  }

  on(listener: (event: NodeEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  tell(event: NodeEvent): void {
    for (const listener of [...this.#listeners]) listener(event)
  }

  receive(event: FeedEvent): void {
    if (event.kind === 'start') {
      this.#catchUp(event.start)
      return
    }
    if (event.kind === 'block') this.#headDaaScore = max(this.#headDaaScore, event.block.header.daaScore)
    this.#held.push(event)
    this.#release()
  }

  /** Call after the lag was changed: the node jumps back, or catches up. */
  applyLag(): void {
    const target = this.#headDaaScore - BigInt(this.faults().lagDaa)
    if (this.#ledger.sink.header.daaScore > target && this.faults().lagDaa > 0) {
      const { ledger, later } = rewind(this.#ledger, target)
      this.#ledger = ledger
      this.#mempool = this.#createMempool([])
      this.#held.unshift(...later.map((block) => ({ kind: 'block' as const, block })))
    }
    this.#release()
  }

  submitTransaction(tx: Tx, rules: Pick<SubmitRules, 'replace'>): Tx | undefined {
    try {
      const done = this.#mempool.submit(tx, { ...rules, allowOrphan: false, trusted: false })
      const replace = rules.replace === 'forbidden' ? 'forbidden' : 'allowed'
      void this.#feed.send({ kind: 'transaction', tx: done.tx, replace }).catch(() => undefined)
      return done.replaced
    } catch (error) {
      if (error instanceof TxRefusal) throw new RpcError(`Rejected transaction ${tx.id}: ${error.message}`)
      throw error
    }
  }

  submitBlock(block: Block): boolean {
    if (this.#ledger.record(block.header.hash) !== undefined || !isValidBlock(this.#ledger, block))
      return false
    void this.#feed.send({ kind: 'block', block }).catch(() => undefined)
    return true
  }

  #createMempool(transactions: readonly Tx[]): Mempool {
    const mempool = new Mempool({ ledger: () => this.#ledger, limits: this.#mempoolLimits })
    for (const tx of transactions) relay(mempool, tx)
    return mempool
  }

  #release(): void {
    const lag = BigInt(this.faults().lagDaa)
    while (this.#held.length > 0) {
      const [event] = this.#held
      if (event === undefined) return
      const tooNew = event.kind === 'block' && event.block.header.daaScore + lag > this.#headDaaScore
      if (lag > 0n && tooNew && this.#held.length <= MAX_HELD) return
      this.#held.shift()
      this.#apply(event)
    }
  }

  #apply(event: FeedEvent): void {
    if (event.kind === 'transaction') {
      this.counters.transactions += 1
      relay(this.#mempool, event.tx)
    }
    if (event.kind === 'block') this.#applyBlock(event.block)
  }

  #applyBlock(block: Block): void {
    const missing = (block.header.parentsByLevel[0] ?? []).some(
      (hash) => this.#ledger.record(hash) === undefined,
    )
    if (missing) return
    const update = this.#ledger.apply(block)
    if (update === undefined) return
    this.counters.blocks += 1
    this.#lastBlockAtMs = this.nowMs()
    this.#mempool.apply(update)
    this.tell({ kind: 'update', update })
  }

  /** After a broken link: apply what was missed, or start anew where the gap is larger than what is kept. */
  #catchUp(start: FeedStart): void {
    const ours = this.#ledger.sink.header.hash
    if (start.ledger.records.some(({ block }) => block.header.hash === ours)) {
      for (const { block } of start.ledger.records) this.receive({ kind: 'block', block })
      for (const tx of start.mempool) this.receive({ kind: 'transaction', tx })
      return
    }
    this.#held = []
    this.#ledger = new Ledger(ledgerRules(start.options), start.ledger)
    this.#headDaaScore = this.#ledger.virtual.daaScore
    this.#mempool = this.#createMempool(start.mempool)
    this.tell({ kind: 'utxo_set_override' })
    this.applyLag()
  }
}

function relay(mempool: Mempool, tx: Tx): void {
  try {
    mempool.submit(tx, { allowOrphan: true, replace: 'allowed', trusted: true })
  } catch (error) {
    if (!(error instanceof TxRefusal)) throw error
  }
}

const max = (a: bigint, b: bigint) => (a > b ? a : b)
