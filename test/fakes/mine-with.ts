/** A block with transactions that no mempool accepts but every node must, as consensus allows more than nodes relay. */
import { hashMerkleRoot } from '../../sandbox/node/consensus/hashing.ts'
import { sealTransaction } from '../../sandbox/node/consensus/validate.ts'
import { readTransaction } from '../../sandbox/node/rpc/read-transaction.ts'
import type { PlainClient } from './plain-node-client.ts'

type Json = Record<string, unknown>

/** Adds these transactions to the node's template; an error if the node refuses the block. */
export async function mineWith(
  rpc: PlainClient,
  payAddress: string,
  transactions: readonly Json[],
): Promise<void> {
  const { block } = await rpc.call('getBlockTemplate', { payAddress, extraData: [] })
  const template = block as { header: Json; transactions: Json[] }
  const all = [...template.transactions, ...transactions]
  const sealed = all.map((json) => sealTransaction(readTransaction(json)))
  const header = { ...template.header, hashMerkleRoot: hashMerkleRoot(sealed) }
  const { report } = await rpc.call('submitBlock', {
    ...{ block: { header, transactions: all }, allowNonDaaBlocks: false },
  })
  const { type } = report as { type: string }
  if (type !== 'success') throw new Error(`the node refused the block: ${JSON.stringify(report)}`)
}
