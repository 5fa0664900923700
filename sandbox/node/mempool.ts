/**
 * Transactions that wait for a block. Refusals carry the node's original texts, in the order of the node's checks. The
 * pool, the orphans and the memory of accepted ids are bounded; the latter two also expire by DAA score.
 *
 *   submit ─▶ known? ─▶ limits ─▶ standard? ─▶ conflicts ─▶ inputs known? ─▶ consensus ─▶ storage mass ─▶ fee ─▶ in
 *                                                          └─ no ─▶ orphan, or refused
 */
import { transactionHash } from './consensus/hashing.ts'
import type { Ledger, LedgerUpdate } from './consensus/ledger.ts'
import { BLOCK_MASS_LIMIT, normalizedMass } from './consensus/mass.ts'
import { outpointKey, type Tx, type UtxoEntry } from './consensus/model.ts'
import { checkInContext, checkInIsolation, TxRefusal, UNACCEPTED_DAA_SCORE } from './consensus/validate.ts'
import { checkFee, checkInputsStandard, checkLimits, checkOutputsStandard, tooHeavy } from './relay-policy.ts'

export interface MempoolEntry {
  tx: Tx
  fee: bigint
  mass: bigint
  /** The outputs that its inputs spend, in order; undefined for unknown ones of an orphan. */
  spent: (UtxoEntry | undefined)[]
  isOrphan: boolean
  addedAtDaaScore: bigint
}

export interface SubmitRules {
  allowOrphan: boolean
  /** What happens on a conflict with a transaction in the pool. */
  replace: 'forbidden' | 'mandatory' | 'allowed'
  /** Scripts were already verified where the transaction entered the network. */
  trusted: boolean
}

interface MempoolLimits {
  maxTransactions: number
  maxOrphans: number
  orphanLifeDaa: number
  acceptedMemoryDaa: number
}

export class Mempool {
  readonly #ledger: () => Ledger
  readonly #limits: MempoolLimits
  readonly #pool = new Map<string, MempoolEntry>()
  readonly #orphans = new Map<string, MempoolEntry>()
  readonly #spenders = new Map<string, string>()
  readonly #accepted = new Map<string, bigint>()

  constructor(options: { ledger: () => Ledger; limits: MempoolLimits }) {
    this.#ledger = options.ledger
    this.#limits = options.limits
  }

  get size(): number {
    return this.#pool.size
  }

  get(id: string, which: { pool: boolean; orphans: boolean }): MempoolEntry | undefined {
    return (
      (which.pool ? this.#pool.get(id) : undefined) ?? (which.orphans ? this.#orphans.get(id) : undefined)
    )
  }

  entries(which: { pool: boolean; orphans: boolean }): MempoolEntry[] {
    return [...(which.pool ? this.#pool.values() : []), ...(which.orphans ? this.#orphans.values() : [])]
  }

  isSpent(key: string): boolean {
    return this.#spenders.has(key)
  }

  /** Throws TxRefusal. The returned transaction has the storage mass that the node computed. */
  submit(submitted: Tx, rules: SubmitRules): { tx: Tx; replaced: Tx | undefined; isOrphan: boolean } {
    this.#checkUnknown(submitted.id)
    checkLimits(submitted)
    checkOutputsStandard(submitted)
    const conflicts = this.#conflicts(submitted, rules)
    const ledger = this.#ledger()
    const spent = submitted.inputs.map((input) => this.#find(outpointKey(input.previousOutpoint)))
    checkInIsolation(submitted)
    const known = spent.filter((entry) => entry !== undefined)
    if (known.length < spent.length) {
      if (!rules.allowOrphan)
        throw new TxRefusal(`transaction ${submitted.id} is an orphan where orphan is disallowed`)
      this.#addOrphan(submitted, spent)
      return { tx: submitted, replaced: undefined, isOrphan: true }
    }
    const view = {
      daaScore: ledger.virtual.daaScore,
      pastMedianTime: ledger.sink.header.timestamp,
      coinbaseMaturity: ledger.rules.coinbaseMaturity,
    }
    const threshold = Math.max(0, ...conflicts.map(({ fee, mass }) => Number(fee) / Number(mass)))
    const { fee, storageMass } = checkInContext(submitted, known, view, {
      skipScripts: rules.trusted,
      checkFee: (paid, storage) => {
        if (conflicts.length === 0 || Number(paid) / Number(normalizedMass(submitted, storage)) > threshold)
          return
        throw new TxRefusal(
          'fee rate per contextual mass gram is not greater than the fee rate of the replaced transaction',
        )
      },
    })
    if (storageMass > BLOCK_MASS_LIMIT.storage)
      throw tooHeavy('storage', storageMass, BLOCK_MASS_LIMIT.storage)
    checkInputsStandard(submitted, known)
    checkFee(submitted, fee)
    for (const conflict of conflicts) this.#remove(conflict.tx.id, true)
    const mass = normalizedMass(submitted, storageMass)
    this.#makeRoom(Number(fee) / Number(mass))
    const tx = { ...submitted, storageMass }
    if (storageMass !== submitted.storageMass) tx.hash = transactionHash(tx)
    this.#insert({ tx, fee, mass, spent: known, isOrphan: false, addedAtDaaScore: view.daaScore })
    this.#adoptOrphans(tx)
    return { tx, replaced: conflicts[0]?.tx, isOrphan: false }
  }

  /** A block arrived: its transactions, and everything that conflicts with them, leave the pool. */
  apply(update: LedgerUpdate): void {
    const daaScore = update.virtualDaaScore
    for (const tx of update.block.transactions) {
      if (tx.inputs.length === 0) continue
      this.#accepted.set(tx.id, daaScore)
      this.#remove(tx.id, false)
      this.#orphans.delete(tx.id)
      for (const input of tx.inputs) {
        const rival = this.#spenders.get(outpointKey(input.previousOutpoint))
        if (rival !== undefined) this.#remove(rival, true)
      }
      this.#adoptOrphans(tx)
    }
    if (update.removedChain.length > 0) this.#dropLost()
    this.#forget(daaScore)
  }

  /**
   * The transactions that can go into a block now because nothing they spend is still in the pool, best fee rate first.
   */
  ready(): MempoolEntry[] {
    const utxos = this.#ledger().utxos
    return [...this.#pool.values()]
      .filter(({ tx }) =>
        tx.inputs.every((input) => utxos.get(outpointKey(input.previousOutpoint)) !== undefined),
      )
      .sort((a, b) => Number(b.fee * a.mass - a.fee * b.mass))
  }

  #checkUnknown(id: string): void {
    if (this.#accepted.has(id)) throw new TxRefusal(`transaction ${id} was already accepted by the consensus`)
    if (this.#pool.has(id)) throw new TxRefusal(`transaction ${id} is already in the mempool`)
  }

  #conflicts(tx: Tx, rules: SubmitRules): MempoolEntry[] {
    const found = new Map<string, MempoolEntry>()
    for (const { previousOutpoint } of tx.inputs) {
      const id = this.#spenders.get(outpointKey(previousOutpoint))
      const entry = id === undefined ? undefined : this.#pool.get(id)
      if (id === undefined || entry === undefined) continue
      if (rules.replace === 'forbidden') {
        const output = `(${previousOutpoint.transactionId}, ${previousOutpoint.index})`
        throw new TxRefusal(`output ${output} already spent by transaction ${id} in the mempool`)
      }
      found.set(id, entry)
    }
    if (rules.replace === 'mandatory' && found.size === 0) {
      throw new TxRefusal('replace by fee found no double spending transaction in the mempool')
    }
    if (rules.replace === 'mandatory' && found.size > 1) {
      throw new TxRefusal('replace by fee found more than one double spending transaction in the mempool')
    }
    return [...found.values()]
  }

  #find(key: string): UtxoEntry | undefined {
    const parent = this.#pool.get(key.slice(0, 64))
    const output = parent?.tx.outputs[Number(key.slice(65))]
    if (output === undefined) return this.#ledger().utxos.get(key)
    return {
      amount: output.value,
      scriptPublicKey: output.scriptPublicKey,
      blockDaaScore: UNACCEPTED_DAA_SCORE,
      isCoinbase: false,
      covenantId: output.covenant?.covenantId ?? null,
    }
  }

  #insert(entry: MempoolEntry): void {
    this.#pool.set(entry.tx.id, entry)
    for (const input of entry.tx.inputs) this.#spenders.set(outpointKey(input.previousOutpoint), entry.tx.id)
  }

  /** With descendants if the outputs are gone permanently; without if a block took the transaction. */
  #remove(id: string, withDescendants: boolean): void {
    const entry = this.#pool.get(id)
    if (entry === undefined) return
    this.#pool.delete(id)
    for (const input of entry.tx.inputs) this.#spenders.delete(outpointKey(input.previousOutpoint))
    if (!withDescendants) return
    entry.tx.outputs.forEach((_, index) => {
      const child = this.#spenders.get(outpointKey({ transactionId: id, index }))
      if (child !== undefined) this.#remove(child, true)
    })
  }

  #addOrphan(tx: Tx, spent: (UtxoEntry | undefined)[]): void {
    if (this.#orphans.has(tx.id))
      throw new TxRefusal(`orphan transaction ${tx.id} is already in the orphan pool`)
    if (this.#orphans.size >= this.#limits.maxOrphans) {
      const oldest = this.#orphans.keys().next()
      if (!oldest.done) this.#orphans.delete(oldest.value)
    }
    const addedAtDaaScore = this.#ledger().virtual.daaScore
    this.#orphans.set(tx.id, {
      tx,
      fee: 0n,
      mass: normalizedMass(tx, 0n),
      spent,
      isOrphan: true,
      addedAtDaaScore,
    })
  }

  #adoptOrphans(parent: Tx): void {
    for (const [id, orphan] of this.#orphans) {
      if (!orphan.tx.inputs.some((input) => input.previousOutpoint.transactionId === parent.id)) continue
      if (orphan.tx.inputs.some((input) => this.#find(outpointKey(input.previousOutpoint)) === undefined))
        continue
      this.#orphans.delete(id)
      try {
        this.submit(orphan.tx, { allowOrphan: false, replace: 'forbidden', trusted: false })
      } catch (error) {
        if (!(error instanceof TxRefusal)) throw error
      }
    }
  }

  #makeRoom(feerate: number): void {
    if (this.#pool.size < this.#limits.maxTransactions) return
    let cheapest: MempoolEntry | undefined
    for (const entry of this.#pool.values()) {
      if (cheapest === undefined || entry.fee * cheapest.mass < cheapest.fee * entry.mass) cheapest = entry
    }
    if (cheapest === undefined || Number(cheapest.fee) / Number(cheapest.mass) >= feerate) {
      throw new TxRefusal(
        "transaction could not be added to the mempool because it's full with transactions with higher priority",
      )
    }
    this.#remove(cheapest.tx.id, true)
  }

  /** After a reorganisation: drops everything that spends an output that no longer exists. */
  #dropLost(): void {
    for (const { tx } of [...this.#pool.values()]) {
      if (tx.inputs.some((input) => this.#find(outpointKey(input.previousOutpoint)) === undefined))
        this.#remove(tx.id, true)
    }
  }

  #forget(daaScore: bigint): void {
    for (const [id, since] of this.#accepted) {
      if (since + BigInt(this.#limits.acceptedMemoryDaa) > daaScore) break
      this.#accepted.delete(id)
    }
    for (const [id, orphan] of this.#orphans) {
      if (orphan.addedAtDaaScore + BigInt(this.#limits.orphanLifeDaa) > daaScore) break
      this.#orphans.delete(id)
    }
  }
}
