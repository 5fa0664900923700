/**
 * The source of all blocks: mines, generates traffic and reorganises. Nodes follow it through its events, in this
 * process or over the link. `step` makes one block. Nothing here reads a clock, so a seed and a start time give the
 * same chain every time (unless something is submitted from outside).
 */

import type { ChainOptions } from './chain-options.ts'
import { addressOfScript } from './consensus/address.ts'
import { buildBlock } from './consensus/build-block.ts'
import { toHex } from './consensus/bytes.ts'
import { Ledger, type LedgerRules, type LedgerSnapshot, type LedgerUpdate } from './consensus/ledger.ts'
import type { Block, Tx } from './consensus/model.ts'
import { TxRefusal } from './consensus/validate.ts'
import { genesis, WORK_PER_BLOCK } from './genesis.ts'
import { Mempool, type MempoolEntry, type SubmitRules } from './mempool.ts'
import { NETWORKS } from './networks.ts'
import { createRandom, type Random } from './random.ts'
import { undoOnePayment } from './traffic/double-spend.ts'
import { type KnownProgram, Traffic } from './traffic/traffic.ts'
import { createWallet, pay, type Wallet } from './traffic/wallet.ts'

/** `update` is what the block changed in the chain's own ledger. */
export type ChainEvent =
  | { kind: 'transaction'; tx: Tx }
  | { kind: 'block'; block: Block; update: LedgerUpdate }

export interface ChainSnapshot {
  ledger: LedgerSnapshot
  random: number
  programs: KnownProgram[]
  blocks: number
  timeShiftMs: number
  mempool: Tx[]
}

const MINERS = 3
/** Late blocks attach to a chain block this far back. */
const LATE_DEPTH = 30
const MAX_REORG_DEPTH = 2000
/** For the simulator's own transactions, whose scripts need no check. */
const OWN_TRANSACTION: SubmitRules = { replace: 'forbidden', allowOrphan: true, trusted: true }

export function mempoolLimits({
  blocksPerSecond,
  acceptedMemorySeconds,
}: Pick<ChainOptions, 'blocksPerSecond' | 'acceptedMemorySeconds'>) {
  return {
    maxTransactions: 10_000,
    maxOrphans: 500,
    orphanLifeDaa: 60 * blocksPerSecond,
    acceptedMemoryDaa: acceptedMemorySeconds * blocksPerSecond,
  }
}

export function ledgerRules(options: ChainOptions): LedgerRules {
  const { coinbaseMaturity, ghostdagK, keepBlocks } = options
  return { coinbaseMaturity, ghostdagK, keepBlocks, workPerBlock: WORK_PER_BLOCK }
}

export class Chain {
  readonly options: ChainOptions
  readonly ledger: Ledger
  readonly mempool: Mempool
  readonly users: readonly Wallet[]
  readonly faucet: Wallet
  readonly #miners: readonly Wallet[]
  readonly #traffic: Traffic
  readonly #random: Random
  readonly #listeners = new Set<(event: ChainEvent) => void>()
  #blocks = 0
  #timeShiftMs = 0
  #previousParents: string[] = []
  #owedTransactions = 0
  /** Blocks that a reorganisation added at once. As many steps then add none, so that the rate holds. */
  #ahead = 0
  dwellBlocks: number

  constructor(options: ChainOptions, snapshot?: ChainSnapshot) {
    this.options = options
    this.dwellBlocks = options.dwellBlocks
    const { seed } = options
    this.users = Array.from({ length: options.users }, (_, i) => createWallet(seed, `user ${i}`))
    this.#miners = Array.from({ length: MINERS }, (_, i) => createWallet(seed, `miner ${i}`))
    this.faucet = createWallet(seed, 'faucet')
    this.#random = createRandom(snapshot?.random ?? seed)
    this.#traffic = new Traffic({ users: this.users, miners: this.#miners, mix: options.mix })
    const rules = ledgerRules(options)
    this.ledger =
      snapshot === undefined
        ? new Ledger(
            rules,
            genesis(options, { miner: this.#miners[0], faucet: this.faucet, users: this.users }),
          )
        : new Ledger(rules, snapshot.ledger)
    this.mempool = new Mempool({ ledger: () => this.ledger, limits: mempoolLimits(options) })
    if (snapshot !== undefined) {
      this.#blocks = snapshot.blocks
      this.#timeShiftMs = snapshot.timeShiftMs
      this.#traffic.restore(snapshot.programs)
      for (const tx of snapshot.mempool) this.submit(tx, OWN_TRANSACTION)
      return
    }
    for (let i = 0; i < options.warmUpBlocks; i++) this.step()
  }

  on(listener: (event: ChainEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  snapshot(): ChainSnapshot {
    return {
      ledger: this.ledger.snapshot(),
      random: this.#random.state(),
      programs: this.#traffic.state(),
      blocks: this.#blocks,
      timeShiftMs: this.#timeShiftMs,
      mempool: this.mempool.entries({ pool: true, orphans: false }).map((entry) => entry.tx),
    }
  }

  /** When the next block is due. */
  get nextBlockAtMs(): number {
    return this.#timeOf(this.#blocks)
  }

  /** After a pause (the process slept or was down), time jumps ahead instead of missed blocks being made up. */
  skipTo(nowMs: number): void {
    this.#timeShiftMs += Math.max(0, nowMs - this.nextBlockAtMs)
  }

  /** Makes this many blocks at once; the next one comes when it would have come without them. */
  burst(blocks: number): void {
    for (let left = blocks; left > 0; left--) {
      this.#timeShiftMs -= 1000 / this.options.blocksPerSecond
      this.step()
    }
  }

  step(): void {
    this.#makeTraffic()
    this.#blocks += 1
    if (this.#ahead > 0) {
      this.#ahead -= 1
      return
    }
    const { parallelRate, lateRate, reorgsPerMinute, reorgDepth, blocksPerSecond, reorgDoubleSpendRate } =
      this.options
    const random = this.#random
    if (random.chance(reorgsPerMinute / 60 / blocksPerSecond)) {
      this.#ahead = this.reorganize(1 + random.below(reorgDepth), random.chance(reorgDoubleSpendRate)) - 1
    } else if (random.chance(lateRate) && this.ledger.chain.length > LATE_DEPTH + 1) {
      const base = this.ledger.chain[this.ledger.chain.length - 1 - LATE_DEPTH]
      if (base !== undefined) this.#mine([base], [])
    } else if (random.chance(parallelRate) && this.#previousParents.length > 0) {
      const sibling = this.ledger.sink.transactions.slice(1)
      this.#mine(this.#previousParents, random.chance(0.5) ? sibling : [])
    } else {
      const parents = this.ledger.virtual.parents
      this.#mine(parents, this.#select())
      this.#previousParents = parents
    }
  }

  /** Throws TxRefusal. Returns the replaced transaction, if any. */
  submit(tx: Tx, rules: SubmitRules): Tx | undefined {
    const accepted = this.mempool.submit(tx, rules)
    this.#emit({ kind: 'transaction', tx: accepted.tx })
    return accepted.replaced
  }

  /** Adds a validated block from outside; false if a parent is unknown here. */
  submitBlock(block: Block): boolean {
    const parents = block.header.parentsByLevel[0] ?? []
    if (parents.some((hash) => this.ledger.record(hash) === undefined)) return false
    this.#apply(block)
    return true
  }

  /**
   * Replaces the last `depth` chain blocks by a heavier branch at once; optionally, one of their payments is undone.
   * Returns the number of blocks mined for that.
   */
  reorganize(depth: number, doubleSpend: boolean): number {
    const { chain } = this.ledger
    const left = chain.slice(-Math.min(depth, chain.length - 2, MAX_REORG_DEPTH))
    let parent = chain[chain.length - 1 - left.length]
    if (parent === undefined) return 0
    const copies = left.map((hash) => this.ledger.record(hash)?.block.transactions.slice(1) ?? [])
    if (doubleSpend) undoOnePayment(this.ledger, this.users, copies)
    const work = this.ledger.sink.header.blueWork
    let mined = 0
    for (let i = 0; (this.ledger.record(parent)?.block.header.blueWork ?? 0n) <= work; i++) {
      parent = this.#mine([parent], copies[i] ?? [])
      mined += 1
    }
    this.#previousParents = []
    return mined
  }

  /** A payment from the faucet; undefined if the faucet is empty. */
  pay(script: string, amount: bigint): Tx | undefined {
    const coins = []
    let total = 0n
    for (const [key, entry] of this.ledger.utxos.ofScript(this.faucet.script)) {
      if (this.mempool.isSpent(key)) continue
      coins.push({ key, entry, owner: this.faucet })
      total += entry.amount
      if (total > amount + 100_000_000_000n) break
    }
    const outputs = [{ value: amount, scriptPublicKey: script, covenant: null }]
    const tx = pay({ version: 0, coins, outputs, change: this.faucet.script, feerate: 100 })
    if (tx !== undefined) this.submit(tx, OWN_TRANSACTION)
    return tx
  }

  addressOf(script: string): string {
    return addressOfScript(NETWORKS[this.options.network].prefix, script) ?? ''
  }

  #timeOf(block: number): number {
    return (
      Math.round(this.options.startTimeMs + (block * 1000) / this.options.blocksPerSecond) + this.#timeShiftMs
    )
  }

  #makeTraffic(): void {
    const world = {
      ledger: this.ledger,
      mempool: this.mempool,
      random: this.#random,
      addressOf: (script: string) => this.addressOf(script),
    }
    this.#owedTransactions += this.options.transactionsPerSecond / this.options.blocksPerSecond
    for (; this.#owedTransactions >= 1; this.#owedTransactions -= 1) this.#offer(this.#traffic.next(world))
    if (this.options.transactionsPerSecond > 0) this.#offer(this.#traffic.sweep(world))
  }

  #offer(tx: Tx | undefined): void {
    if (tx === undefined) return
    try {
      this.submit(tx, OWN_TRANSACTION)
    } catch (error) {
      if (!(error instanceof TxRefusal)) throw error
    }
  }

  /** The best-paying transactions that have waited long enough, up to the mass of a block. */
  #select(): Tx[] {
    const chosen: Tx[] = []
    const now = this.ledger.virtual.daaScore
    let mass = 0
    const waited = ({ fee, mass: weight, addedAtDaaScore }: MempoolEntry) =>
      fee >= weight * 200n || now - addedAtDaaScore >= BigInt(this.dwellBlocks)
    for (const entry of this.mempool.ready()) {
      if (!waited(entry)) continue
      if (mass + Number(entry.mass) > this.options.blockMass) break
      mass += Number(entry.mass)
      chosen.push(entry.tx)
    }
    return chosen
  }

  #mine(parents: readonly string[], transactions: readonly Tx[]): string {
    const random = this.#random
    const parentTime = Math.max(
      ...parents.map((hash) => this.ledger.record(hash)?.block.header.timestamp ?? 0),
    )
    const block = buildBlock(this.ledger, {
      parents,
      transactions,
      timestamp: Math.max(parentTime + 1, this.#timeOf(this.#blocks - 1)),
      nonce: random.u64(),
      minerScript: random.pick(this.#miners).script,
      extraData: toHex(Buffer.from(`2.0.1/${random.u64().toString(36)}`)),
    })
    this.#apply(block)
    return block.header.hash
  }

  #apply(block: Block): void {
    const update = this.ledger.apply(block)
    if (update === undefined) return
    this.mempool.apply(update)
    this.#emit({ kind: 'block', block, update })
  }

  #emit(event: ChainEvent): void {
    for (const listener of [...this.#listeners]) listener(event)
  }
}
