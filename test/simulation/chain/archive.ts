/**
 * Everything that was ever in the selected chain of the simulated network, recorded as it happened, because the nodes
 * prune old blocks. It reads the network's own ledger and shares no code with the indexer.
 */
import type { Chain } from '../../../sandbox/node/chain.ts'
import { addressOfScript } from '../../../sandbox/node/consensus/address.ts'
import { type Block, outpointKey, type Tx, type UtxoEntry } from '../../../sandbox/node/consensus/model.ts'
import { NETWORKS } from '../../../sandbox/node/networks.ts'

export interface ArchivedMovement {
  readonly received: bigint
  readonly sent: bigint
}

interface ArchivedTransaction {
  readonly txId: string
  /** The block that carried the accepted copy. */
  readonly blockHash: string
  readonly blockTimeMs: number
  readonly isCoinbase: boolean
  readonly movements: ReadonlyMap<string, ArchivedMovement>
}

export interface ArchivedBlock {
  readonly hash: string
  readonly blueScore: number
  readonly daaScore: number
  readonly timeMs: number
  readonly mergeSet: readonly string[]
  readonly accepted: readonly ArchivedTransaction[]
}

/** Any block of the DAG. */
export interface ArchivedDagBlock {
  readonly blueScore: number
  readonly daaScore: number
  readonly timeMs: number
  readonly txIds: readonly string[]
}

export type ArchivedOutput = Pick<UtxoEntry, 'amount' | 'scriptPublicKey' | 'covenantId'>

export type ChainArchive = ReturnType<typeof keepArchive>

export function keepArchive(chain: Chain) {
  const blocks = new Map<string, ArchivedBlock>()
  const addresses = new Map<string, string | undefined>()
  const selected: string[] = []
  const acceptedAt = new Map<string, number>()
  /** Times of blocks in the chain and of those that they merged. */
  const times = new Map<string, number>()
  const dagBlocks = new Map<string, ArchivedDagBlock>()
  const transactions = new Map<string, Tx>()
  /** Every output that ever existed. */
  const outputs = new Map<string, ArchivedOutput>()
  /** The DAA scores of the chain blocks that ever accepted a transaction. */
  const acceptedWith = new Map<string, Set<number>>()
  /**
   * Scores that the end of the chain has ever had, on any node: one that lags and catches up sees parallel blocks in
   * another order.
   */
  const scores = { daa: new Set<number>(), blue: new Set<number>() }
  const { prefix } = NETWORKS[chain.options.network]

  const addressOf = (script: string) => {
    if (!addresses.has(script)) addresses.set(script, addressOfScript(prefix, script))
    return addresses.get(script)
  }

  function movementsOf(tx: {
    readonly outputs: readonly { readonly scriptPublicKey: string; readonly amount: bigint }[]
    readonly spent: readonly { readonly scriptPublicKey: string; readonly amount: bigint }[]
  }): Map<string, ArchivedMovement> {
    const movements = new Map<string, { received: bigint; sent: bigint }>()
    const own = (script: string) => {
      const address = addressOf(script)
      if (address === undefined) return undefined
      const movement = movements.get(address) ?? { received: 0n, sent: 0n }
      movements.set(address, movement)
      return movement
    }
    for (const { scriptPublicKey, amount } of tx.outputs) {
      const movement = own(scriptPublicKey)
      if (movement !== undefined) movement.received += amount
    }
    for (const { scriptPublicKey, amount } of tx.spent) {
      const movement = own(scriptPublicKey)
      if (movement !== undefined) movement.sent += amount
    }
    return movements
  }

  function keepTransaction(tx: Tx, spent: readonly (ArchivedOutput | undefined)[] = []): void {
    transactions.set(tx.id, tx)
    for (const [index, { value, scriptPublicKey, covenant }] of tx.outputs.entries())
      outputs.set(outpointKey({ transactionId: tx.id, index }), {
        ...{ amount: value, scriptPublicKey, covenantId: covenant?.covenantId ?? null },
      })
    for (const [index, entry] of spent.entries()) {
      const input = tx.inputs[index]
      if (entry !== undefined && input !== undefined) outputs.set(outpointKey(input.previousOutpoint), entry)
    }
  }

  function keepDagBlock({ header, transactions: carried }: Block): void {
    dagBlocks.set(header.hash, {
      blueScore: Number(header.blueScore),
      daaScore: Number(header.daaScore),
      timeMs: header.timestamp,
      txIds: carried.map(({ id }) => id),
    })
    for (const tx of carried) keepTransaction(tx)
  }

  function keepScores(daaScore: bigint, blueScore: bigint): void {
    scores.daa.add(Number(daaScore))
    scores.blue.add(Number(blueScore))
  }

  function keep(hash: string): void {
    if (blocks.has(hash)) return
    const record = chain.ledger.record(hash)
    if (record === undefined) throw new Error(`chain block ${hash} is not known`)
    const { blueScore, daaScore, timestamp } = record.block.header
    for (const each of [hash, ...record.blues, ...record.reds]) {
      const block = chain.ledger.record(each)?.block
      if (block === undefined) continue
      times.set(each, block.header.timestamp)
      if (!dagBlocks.has(each)) keepDagBlock(block)
    }
    for (const { tx, spent } of record.acceptance?.transactions ?? []) {
      if (!acceptedAt.has(tx.id)) acceptedAt.set(tx.id, Number(blueScore))
      keepTransaction(tx, spent)
      acceptedWith.set(tx.id, (acceptedWith.get(tx.id) ?? new Set()).add(Number(daaScore)))
    }
    blocks.set(hash, {
      hash,
      blueScore: Number(blueScore),
      daaScore: Number(daaScore),
      timeMs: timestamp,
      mergeSet: [...record.blues, ...record.reds],
      accepted: (record.acceptance?.transactions ?? []).map(({ tx, blockHash, spent }) => ({
        txId: tx.id,
        blockHash,
        blockTimeMs: chain.ledger.record(blockHash)?.block.header.timestamp ?? 0,
        isCoinbase: tx.inputs.length === 0,
        movements: movementsOf({
          outputs: tx.outputs.map(({ scriptPublicKey, value }) => ({ scriptPublicKey, amount: value })),
          spent,
        }),
      })),
    })
  }

  for (const hash of chain.ledger.chain) {
    keep(hash)
    selected.push(hash)
  }
  keepScores(chain.ledger.virtual.daaScore, chain.ledger.sink.header.blueScore)
  // What exists from the beginning; transactions of the newest block are accepted by the next one.
  for (const [key, entry] of chain.ledger.utxos.entries()) outputs.set(key, entry)
  for (const { tx, spent } of chain.ledger.virtual.acceptance.transactions) keepTransaction(tx, spent)
  for (const { tx, spent } of chain.mempool.entries({ pool: true, orphans: true })) keepTransaction(tx, spent)
  const stop = chain.on((event) => {
    if (event.kind === 'transaction') {
      const entry = chain.mempool.get(event.tx.id, { pool: true, orphans: true })
      return keepTransaction(event.tx, entry?.spent)
    }
    keepDagBlock(event.block)
    keepScores(chain.ledger.virtual.daaScore, chain.ledger.sink.header.blueScore)
    for (const hash of event.update.removedChain)
      if (selected.pop() !== hash) throw new Error('the archive lost the chain')
    for (const hash of event.update.addedChain) {
      keep(hash)
      selected.push(hash)
    }
  })

  return {
    /** Any block that was ever in the selected chain. */
    block: (hash: string) => blocks.get(hash),
    /** Any block of the DAG since the simulation began, or merged since then. */
    dagBlock: (hash: string) => dagBlocks.get(hash),
    /** Any transaction that was in a mempool or in a block. */
    transaction: (txId: string) => transactions.get(txId),
    output: (point: { readonly transactionId: string; readonly index: number }) =>
      outputs.get(outpointKey(point)),
    addressOf,
    /** The DAA scores of the chain blocks that ever accepted it. */
    acceptedWith: (txId: string): ReadonlySet<number> => acceptedWith.get(txId) ?? new Set(),
    scores: scores as { readonly daa: ReadonlySet<number>; readonly blue: ReadonlySet<number> },
    keepScores,
    /** The time of any block that was ever in the selected chain, or merged by such a block. */
    timeOf: (hash: string) => times.get(hash),
    /** The blue score of the block that first accepted it. */
    acceptedAt: (txId: string) => acceptedAt.get(txId),
    /** The selected chain now, oldest first, from the start of the simulation on. */
    chain: (): ArchivedBlock[] => selected.map((hash) => blocks.get(hash) as ArchivedBlock),
    sink: () => selected.at(-1) ?? '',
    stop,
  }
}
