/**
 * Everything that was ever in the selected chain of the simulated network, written down as it happened: the nodes
 * forget what is old. It reads the network's own ledger and shares no code with the indexer.
 */
import type { Chain } from '../../../sandbox/node/chain.ts'
import { addressOfScript } from '../../../sandbox/node/consensus/address.ts'
import { NETWORKS } from '../../../sandbox/node/networks.ts'

export interface ArchivedMovement {
  readonly received: bigint
  readonly sent: bigint
}

interface ArchivedTransaction {
  readonly txId: string
  /** The block whose copy was accepted. */
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

export type ChainArchive = ReturnType<typeof keepArchive>

export function keepArchive(chain: Chain) {
  const blocks = new Map<string, ArchivedBlock>()
  const addresses = new Map<string, string | undefined>()
  const selected: string[] = []
  const acceptedAt = new Map<string, number>()
  /** Of blocks in the chain and of those that they merged. */
  const times = new Map<string, number>()
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

  function keep(hash: string): void {
    if (blocks.has(hash)) return
    const record = chain.ledger.record(hash)
    if (record === undefined) throw new Error(`chain block ${hash} is not known`)
    const { blueScore, daaScore, timestamp } = record.block.header
    for (const each of [hash, ...record.blues, ...record.reds]) {
      const header = chain.ledger.record(each)?.block.header
      if (header !== undefined) times.set(each, header.timestamp)
    }
    for (const { tx } of record.acceptance?.transactions ?? [])
      if (!acceptedAt.has(tx.id)) acceptedAt.set(tx.id, Number(blueScore))
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
  const stop = chain.on((event) => {
    if (event.kind !== 'block') return
    for (const hash of event.update.removedChain)
      if (selected.pop() !== hash) throw new Error('the archive lost the chain')
    for (const hash of event.update.addedChain) {
      keep(hash)
      selected.push(hash)
    }
  })

  return {
    /** Any block that was in the selected chain once. */
    block: (hash: string) => blocks.get(hash),
    /** The time of any block that was in the selected chain once, or merged by one. */
    timeOf: (hash: string) => times.get(hash),
    /** The blue score of the block that first accepted it. */
    acceptedAt: (txId: string) => acceptedAt.get(txId),
    /** The selected chain now, oldest first, from the start of the simulation on. */
    chain: (): ArchivedBlock[] => selected.map((hash) => blocks.get(hash) as ArchivedBlock),
    sink: () => selected.at(-1) ?? '',
    stop,
  }
}
