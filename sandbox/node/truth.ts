/** The node's own state in a form made for checking an indexer; it covers only retained blocks. */
import { decodeAddress, scriptOfAddress } from './consensus/address.ts'
import type { Ledger } from './consensus/ledger.ts'
import { parseOutpointKey } from './consensus/model.ts'

interface TruthTransaction {
  transactionId: string
  acceptingBlockHash: string
  acceptingDaaScore: bigint
  acceptingBlueScore: bigint
  acceptingTime: number
  /** The block whose copy was accepted. */
  blockHash: string
  received: bigint
  sent: bigint
}

export type Truth = ReturnType<typeof createTruth>

export function createTruth(ledger: () => Ledger) {
  function* accepted(script: string | undefined): Generator<TruthTransaction> {
    const now = ledger()
    for (const hash of now.chain) {
      const record = now.record(hash)
      for (const { tx, blockHash, spent } of record?.acceptance?.transactions ?? []) {
        const sum = (cells: { scriptPublicKey: string; amount: bigint }[]) =>
          cells
            .filter((cell) => cell.scriptPublicKey === script)
            .reduce((total, cell) => total + cell.amount, 0n)
        const involved =
          script === undefined ||
          spent.some((entry) => entry.scriptPublicKey === script) ||
          tx.outputs.some((output) => output.scriptPublicKey === script)
        if (!involved || record === undefined) continue
        const { header } = record.block
        yield {
          transactionId: tx.id,
          acceptingBlockHash: hash,
          acceptingDaaScore: header.daaScore,
          acceptingBlueScore: header.blueScore,
          acceptingTime: header.timestamp,
          blockHash,
          received: sum(tx.outputs.map((output) => ({ ...output, amount: output.value }))),
          sent: sum(spent),
        }
      }
    }
  }

  return {
    address(address: string) {
      const decoded = decodeAddress(address)
      if (!decoded.ok) throw new RangeError(`${address} is not an address`)
      const script = scriptOfAddress(decoded)
      const utxos = [...ledger().utxos.ofScript(script)].map(([key, { scriptPublicKey: _, ...entry }]) => ({
        ...parseOutpointKey(key),
        ...entry,
      }))
      const balance = utxos.reduce((sum, utxo) => sum + utxo.amount, 0n)
      return { address, balance, utxos, transactions: [...accepted(script)] }
    },
    /** The acceptance of a transaction, if it is accepted. */
    transaction: (id: string): TruthTransaction | undefined =>
      accepted(undefined).find((found) => found.transactionId === id),
    /** The selected chain from a block on (or all retained blocks), oldest first. */
    chain(from?: string) {
      const now = ledger()
      const start = from === undefined ? 0 : Math.max(0, now.chainPosition(from))
      return now.chain.slice(start).flatMap((hash) => {
        const record = now.record(hash)
        if (record === undefined) return []
        const { daaScore, blueScore, timestamp } = record.block.header
        const transactions = record.acceptance?.transactions ?? []
        return {
          hash,
          daaScore,
          blueScore,
          timestamp,
          mergeSet: [...record.blues, ...record.reds],
          accepted: transactions.map(({ tx, blockHash }) => ({ transactionId: tx.id, blockHash })),
        }
      })
    },
    sink: () => ledger().sink.header.hash,
  }
}
