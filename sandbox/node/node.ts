/**
 * One node of the chain.
 *
 *   in the chain's process:  reads the chain's ledger and mempool
 *                               │ lag > 0                      ▲ caught up again
 *                               ▼                              │
 *   with its own state:      a rewound ledger; blocks wait in a queue until they are old enough
 *
 * In another process it always has its own state, fed over the link.
 */

import { ledgerRules, mempoolLimits } from './chain.ts'
import type { ChainConnection, ChainMessage, ChainStart } from './chain-connection.ts'
import type { ChainOptions } from './chain-options.ts'
import type { AddressPrefix } from './consensus/address.ts'
import { isValidBlock } from './consensus/build-block.ts'
import { Ledger, type LedgerUpdate } from './consensus/ledger.ts'
import type { Block, Tx } from './consensus/model.ts'
import { rewind } from './consensus/rewind.ts'
import { TxRefusal } from './consensus/validate.ts'
import type { Faults } from './faults.ts'
import { Mempool, type SubmitRules } from './mempool.ts'
import { NETWORKS, type NetworkId } from './networks.ts'
import { RpcError } from './rpc/errors.ts'
import type { NodeEvent } from './rpc/notifications.ts'
import type { NodeView } from './rpc/view.ts'
import { createWire, type Wire } from './rpc/wire.ts'

/** Maximum number of events that a lagging node holds back; beyond that it lags less than configured. */
const MAX_HELD = 50_000
/** After this long without a block, the node reports that it is not synced. */
const SYNCED_WITHIN_MS = 60_000

export class SandboxNode implements NodeView {
  readonly nodeId: string
  readonly faults: () => Faults
  readonly counters = { connections: 0, attempts: 0, bytesIn: 0, bytesOut: 0, blocks: 0, transactions: 0 }
  readonly nowMs: () => number
  readonly #connection: ChainConnection
  readonly #wires = new Map<AddressPrefix, Wire>()
  readonly #listeners = new Set<(event: NodeEvent) => void>()
  readonly blocksPerSecond: number
  readonly blockMass: number
  readonly #options: ChainOptions
  #own: { ledger: Ledger; mempool: Mempool } | undefined
  #held: ChainMessage[] = []
  #headDaaScore = 0n
  #lastBlockAtMs: number

  /**
   * `start` gives the node its own state from the beginning. Without it, the connection must lead to a chain in this
   * process.
   */
  constructor(options: {
    id: string
    connection: ChainConnection
    options: ChainOptions
    start?: ChainStart | undefined
    faults: () => Faults
    nowMs: () => number
  }) {
    this.nodeId = options.id
    this.#connection = options.connection
    this.faults = options.faults
    this.nowMs = options.nowMs
    this.#lastBlockAtMs = options.nowMs()
    this.#options = options.options
    this.blocksPerSecond = options.options.blocksPerSecond
    this.blockMass = options.options.blockMass
    if (options.start !== undefined) this.#own = this.#stateFrom(options.start)
    this.#headDaaScore = this.ledger.virtual.daaScore
  }

  get #state(): { readonly ledger: Ledger; readonly mempool: Mempool } {
    const state = this.#own ?? this.#connection.chain
    if (state === undefined) throw new Error('a node needs a chain in this process or a state of its own')
    return state
  }

  get ledger(): Ledger {
    return this.#state.ledger
  }

  get mempool(): Mempool {
    return this.#state.mempool
  }

  get network(): NetworkId {
    return this.faults().network ?? this.#options.network
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

  publish(event: NodeEvent): void {
    for (const listener of [...this.#listeners]) listener(event)
  }

  receive(message: ChainMessage): void {
    if (message.kind === 'start') {
      this.#catchUp(message.start)
      return
    }
    if (message.kind === 'block') this.#headDaaScore = max(this.#headDaaScore, message.block.header.daaScore)
    if (this.#own === undefined) {
      this.#noteApplied(message, message.kind === 'block' ? message.update : undefined)
      return
    }
    this.#held.push(message)
    this.#release()
  }

  /** To be called after the lag was changed; the node jumps back or catches up. */
  applyLag(): void {
    const { lagDaa } = this.faults()
    const target = this.#headDaaScore - BigInt(lagDaa)
    if (lagDaa > 0 && (this.#own === undefined || this.ledger.sink.header.daaScore > target)) {
      const { ledger, later } = rewind(this.ledger, target)
      this.#own = { ledger, mempool: this.#createMempool(() => ledger, []) }
      this.#held.unshift(...later.map((block) => ({ kind: 'block' as const, block })))
    }
    this.#release()
  }

  submitTransaction(tx: Tx, rules: Pick<SubmitRules, 'replace'>): Tx | undefined {
    const submitted: SubmitRules = { ...rules, allowOrphan: false, trusted: false }
    try {
      const { chain } = this.#connection
      if (this.#own === undefined && chain !== undefined) return chain.submit(tx, submitted)
      const done = this.mempool.submit(tx, submitted)
      const replace = rules.replace === 'forbidden' ? 'forbidden' : 'allowed'
      void this.#connection.send({ kind: 'transaction', tx: done.tx, replace }).catch(() => undefined)
      return done.replaced
    } catch (error) {
      if (error instanceof TxRefusal) throw new RpcError(`Rejected transaction ${tx.id}: ${error.message}`)
      throw error
    }
  }

  submitBlock(block: Block): boolean {
    if (this.ledger.record(block.header.hash) !== undefined || !isValidBlock(this.ledger, block)) return false
    void this.#connection.send({ kind: 'block', block }).catch(() => undefined)
    return true
  }

  #createMempool(ledger: () => Ledger, transactions: readonly Tx[]): Mempool {
    const mempool = new Mempool({ ledger, limits: mempoolLimits(this.#options) })
    for (const tx of transactions) relay(mempool, tx)
    return mempool
  }

  #stateFrom(start: ChainStart): { ledger: Ledger; mempool: Mempool } {
    const ledger = new Ledger(ledgerRules(start.options), start.ledger)
    return { ledger, mempool: this.#createMempool(() => ledger, start.mempool) }
  }

  #release(): void {
    const lag = BigInt(this.faults().lagDaa)
    while (this.#held.length > 0) {
      const [message] = this.#held
      if (message === undefined) return
      const tooNew = message.kind === 'block' && message.block.header.daaScore + lag > this.#headDaaScore
      if (lag > 0n && tooNew && this.#held.length <= MAX_HELD) return
      this.#held.shift()
      this.#apply(message)
    }
    const { chain } = this.#connection
    if (lag === 0n && chain !== undefined && this.ledger.sink.header.hash === chain.ledger.sink.header.hash) {
      this.#own = undefined
    }
  }

  #apply(message: ChainMessage): void {
    if (message.kind === 'transaction') {
      relay(this.mempool, message.tx)
      this.#noteApplied(message, undefined)
    }
    if (message.kind !== 'block') return
    const parents = message.block.header.parentsByLevel[0] ?? []
    if (parents.some((hash) => this.ledger.record(hash) === undefined)) return
    const update = this.ledger.apply(message.block)
    if (update === undefined) return
    this.mempool.apply(update)
    this.#noteApplied(message, update)
  }

  #noteApplied(message: ChainMessage, update: LedgerUpdate | undefined): void {
    if (message.kind === 'transaction') this.counters.transactions += 1
    if (update === undefined) return
    this.counters.blocks += 1
    this.#lastBlockAtMs = this.nowMs()
    this.publish({ kind: 'update', update })
  }

  /** After a lost link: applies the missed events, or starts from scratch if more was missed than is retained. */
  #catchUp(start: ChainStart): void {
    const ours = this.ledger.sink.header.hash
    if (start.ledger.records.some(({ hash }) => hash === ours)) {
      const missed = new Ledger(ledgerRules(start.options), start.ledger)
      for (const { block } of missed.records()) this.receive({ kind: 'block', block })
      for (const tx of start.mempool) this.receive({ kind: 'transaction', tx })
      return
    }
    this.#held = []
    this.#own = this.#stateFrom(start)
    this.#headDaaScore = this.ledger.virtual.daaScore
    this.publish({ kind: 'utxo_set_override' })
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
