/**
 * The one source of blocks: mines, makes traffic, reorganises. Nodes follow it through its events, in this
 * process or over the link. `step` is one block; nothing here reads a clock, so a seed and a start time give
 * the same chain every time (as long as nobody submits something from outside).
 */

import type { ChainOptions } from './chain-options.ts'
import { addressOfScript, decodeAddress, scriptOfAddress } from './consensus/address.ts'
import { BITS, BLOCK_VERSION, buildBlock, coinbasePayload } from './consensus/build-block.ts'
import { toHex } from './consensus/bytes.ts'
import { blockOf, hashMerkleRoot, keyedBlake2b } from './consensus/hashing.ts'
import { Ledger, type LedgerRules, type LedgerSnapshot } from './consensus/ledger.ts'
import { type Block, COINBASE_SUBNETWORK, type Tx, type UtxoEntry, ZERO_HASH } from './consensus/model.ts'
import { sealTransaction, TxRefusal } from './consensus/validate.ts'
import { Mempool, type MempoolEntry } from './mempool.ts'
import { NETWORKS } from './networks.ts'
import { createRandom, type Random } from './random.ts'
import { type KnownProgram, Traffic } from './traffic/traffic.ts'
import { createWallet, pay, sign, type Wallet } from './traffic/wallet.ts'

export type ChainEvent = { kind: 'transaction'; tx: Tx } | { kind: 'block'; block: Block }

export interface ChainSnapshot {
  ledger: LedgerSnapshot
  random: number
  programs: KnownProgram[]
  blocks: number
  timeShiftMs: number
  mempool: Tx[]
}

/** Hashes that a block stands for: the network rate then exceeds 2^53 like the real one. */
export const WORK_PER_BLOCK = 50_000_000_000_000_000n
const MINERS = 3
const COINS_PER_USER = 12
const RESERVE = 2_700_000_000_000_000_000n
/** Late blocks hang on a chain block this far back. */
const LATE_DEPTH = 30
const MAX_REORG_DEPTH = 2000

export function mempoolLimits(blocksPerSecond: number) {
  return {
    maxTransactions: 10_000,
    maxOrphans: 500,
    orphanLifeDaa: 60 * blocksPerSecond,
    acceptedMemoryDaa: 120 * blocksPerSecond,
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
  /** Blocks that a reorganisation brought at once; as many steps stay quiet, so that the rate holds. */
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
        ? new Ledger(rules, { block: this.#genesis(), utxos: this.#allocation() })
        : new Ledger(rules, snapshot.ledger)
    this.mempool = new Mempool({ ledger: () => this.ledger, limits: mempoolLimits(options.blocksPerSecond) })
    if (snapshot !== undefined) {
      this.#blocks = snapshot.blocks
      this.#timeShiftMs = snapshot.timeShiftMs
      this.#traffic.restore(snapshot.programs)
      for (const tx of snapshot.mempool) this.submit(tx, { replace: 'forbidden' })
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

  /** After a pause (the process slept or was down) time jumps instead of blocks being caught up. */
  skipTo(nowMs: number): void {
    this.#timeShiftMs += Math.max(0, nowMs - this.nextBlockAtMs)
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

  /** A transaction from outside or from the traffic; throws TxRefusal. Scripts must have been verified. */
  submit(tx: Tx, rules: { replace: 'forbidden' | 'mandatory' | 'allowed' }): void {
    const accepted = this.mempool.submit(tx, { allowOrphan: true, replace: rules.replace, trusted: true })
    this.#emit({ kind: 'transaction', tx: accepted.tx })
  }

  /** A block from outside whose rules were checked; false where a parent is unknown here. */
  submitBlock(block: Block): boolean {
    const parents = block.header.parentsByLevel[0] ?? []
    if (parents.some((hash) => this.ledger.record(hash) === undefined)) return false
    this.#apply(block)
    return true
  }

  /**
   * Replaces the last `depth` chain blocks by a heavier branch, at once; optionally one of their payments is
   * undone. Returns how many blocks that took.
   */
  reorganize(depth: number, doubleSpend: boolean): number {
    const { chain } = this.ledger
    const left = chain.slice(-Math.min(depth, chain.length - 2, MAX_REORG_DEPTH))
    let parent = chain[chain.length - 1 - left.length]
    if (parent === undefined) return 0
    const copies = left.map((hash) => this.ledger.record(hash)?.block.transactions.slice(1) ?? [])
    if (doubleSpend) this.#undoOnePayment(copies)
    const work = this.ledger.sink.header.blueWork
    let mined = 0
    for (let i = 0; (this.ledger.record(parent)?.block.header.blueWork ?? 0n) <= work; i++) {
      parent = this.#mine([parent], copies[i] ?? [])
      mined += 1
    }
    this.#previousParents = []
    return mined
  }

  /** A payment from the faucet; undefined where it is empty. */
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
    if (tx !== undefined) this.submit(tx, { replace: 'forbidden' })
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
    const made: (Tx | undefined)[] = [
      this.options.transactionsPerSecond > 0 ? this.#traffic.sweep(world) : undefined,
    ]
    for (; this.#owedTransactions >= 1; this.#owedTransactions -= 1) this.#offer(this.#traffic.next(world))
    for (const tx of made) this.#offer(tx)
  }

  #offer(tx: Tx | undefined): void {
    if (tx === undefined) return
    try {
      this.submit(tx, { replace: 'forbidden' })
    } catch (error) {
      if (!(error instanceof TxRefusal)) throw error
    }
  }

  /** The best paying ones that waited long enough, up to the mass of a block. */
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
    this.#emit({ kind: 'block', block })
  }

  #emit(event: ChainEvent): void {
    for (const listener of [...this.#listeners]) listener(event)
  }

  /** Puts a rival of the first plain payment in the branch instead of it. */
  #undoOnePayment(copies: Tx[][]): void {
    for (const transactions of copies) {
      for (const [at, tx] of transactions.entries()) {
        const owner = this.users.find((user) => user.script === tx.outputs.at(-1)?.scriptPublicKey)
        const rival = owner === undefined ? undefined : this.#rivalOf(tx, owner)
        if (rival === undefined) continue
        transactions[at] = rival
        return
      }
    }
  }

  #rivalOf(tx: Tx, owner: Wallet): Tx | undefined {
    const coins = tx.inputs.flatMap((input) => {
      const spent = this.#spentBy(tx.id)
      const entry = spent?.[tx.inputs.indexOf(input)]
      const { transactionId, index } = input.previousOutpoint
      return entry?.scriptPublicKey === owner.script
        ? [{ key: `${transactionId}:${index}`, entry, owner }]
        : []
    })
    if (coins.length === 0 || coins.length < tx.inputs.length) return undefined
    const value = tx.outputs.reduce((sum, output) => sum + output.value, 0n)
    const outputs = [{ value, scriptPublicKey: owner.script, covenant: null }]
    const inputs = tx.inputs.map((input) => ({ ...input }))
    return sign({ ...tx, inputs, outputs, payload: '' }, coins)
  }

  #spentBy(id: string): UtxoEntry[] | undefined {
    for (let i = this.ledger.chain.length - 1; i >= 0 && i >= this.ledger.chain.length - 50; i--) {
      const acceptance = this.ledger.record(this.ledger.chain[i] ?? '')?.acceptance
      const found = acceptance?.transactions.find((accepted) => accepted.tx.id === id)
      if (found !== undefined) return found.spent
    }
    return this.ledger.virtual.acceptance.transactions.find((accepted) => accepted.tx.id === id)?.spent
  }

  #genesis(): Block {
    const script = this.#miners[0]?.script ?? ''
    const coinbase = sealTransaction({
      version: 1,
      inputs: [],
      outputs: [],
      lockTime: 0n,
      subnetworkId: COINBASE_SUBNETWORK,
      gas: 0n,
      payload: coinbasePayload(0n, script, toHex(Buffer.from(`sandbox ${this.options.seed}`))),
      storageMass: 0n,
    })
    const { startDaaScore, startTimeMs } = this.options
    return blockOf(
      {
        version: BLOCK_VERSION,
        parentsByLevel: [],
        hashMerkleRoot: hashMerkleRoot([coinbase]),
        acceptedIdMerkleRoot: ZERO_HASH,
        utxoCommitment: ZERO_HASH,
        timestamp: startTimeMs,
        bits: BITS,
        nonce: 0n,
        daaScore: startDaaScore,
        blueWork: startDaaScore * WORK_PER_BLOCK,
        blueScore: startDaaScore - 2_000_000n,
        pruningPoint: ZERO_HASH,
      },
      [coinbase],
    )
  }

  /** Unspent outputs at the first block, as a node has them that starts from a pruning point. */
  *#allocation(): Generator<[string, UtxoEntry]> {
    const { startDaaScore, seed, fund } = this.options
    let n = 0
    const entry = (scriptPublicKey: string, amount: bigint): [string, UtxoEntry] => {
      const id = toHex(keyedBlake2b(Buffer.from('SandboxGenesis'), Buffer.from(`${seed}:${n++}`)))
      const blockDaaScore = startDaaScore - 100_000n
      return [`${id}:0`, { amount, scriptPublicKey, blockDaaScore, isCoinbase: false, covenantId: null }]
    }
    yield entry(createWallet(seed, 'reserve').script, RESERVE)
    for (let i = 0; i < 50; i++) yield entry(this.faucet.script, 100_000_000_000_000n)
    for (const user of this.users) {
      for (let i = 0; i < COINS_PER_USER; i++) yield entry(user.script, BigInt(100 + 37 * i) * 100_000_000n)
    }
    for (const { address, amount } of fund) {
      const decoded = decodeAddress(address)
      if (!decoded.ok) throw new RangeError(`cannot fund ${address}: not an address`)
      yield entry(scriptOfAddress(decoded), amount)
    }
  }
}
