/** Valid params for all 39 methods of a node whose chain grows, and which of them it may still refuse. */
import assert from 'node:assert/strict'

interface Entry {
  transaction: {
    outputs: { verboseData: { scriptPublicKeyAddress: string } }[]
    verboseData: { transactionId: string }
  }
}

/** The result of a call that must succeed, with exact integers. */
export type ExactCall = (method: string, params?: unknown) => Promise<Record<string, unknown>>

export async function goodParams(call: ExactCall): Promise<Record<string, unknown>> {
  const { sink, pruningPointHash, virtualDaaScore } = await call('getBlockDagInfo')
  const { mempoolEntries } = (await call('getMempoolEntries')) as unknown as { mempoolEntries: Entry[] }
  const entry = mempoolEntries.find(
    ({ transaction }) => transaction.outputs[0]?.verboseData.scriptPublicKeyAddress,
  )
  assert.ok(entry)
  const address = entry.transaction.outputs[0]?.verboseData.scriptPublicKeyAddress
  const { block } = await call('getBlockTemplate', { payAddress: address })
  const paid = await payment(call, String(pruningPointHash))
  return {
    getCurrentBlockColor: { hash: pruningPointHash },
    getBlockRewardInfo: { hash: pruningPointHash },
    getSeqCommitLaneProof: { blockHash: sink, laneKey: '00'.repeat(32) },
    getBalanceByAddress: { address },
    getUtxoReturnAddress: { txid: paid.txId, acceptingBlockDaaScore: paid.daaScore },
    getDaaScoreTimestampEstimate: { daaScores: [virtualDaaScore] },
    getSubnetwork: { subnetworkId: '00'.repeat(20) },
    getBlock: { hash: sink },
    getBlocks: { lowHash: pruningPointHash, includeBlocks: true, includeTransactions: true },
    getHeaders: { startHash: sink },
    getVirtualChainFromBlock: { startHash: pruningPointHash, includeAcceptedTransactionIds: true },
    getVirtualChainFromBlockV2: { startHash: pruningPointHash },
    getBlockTemplate: { payAddress: address },
    submitBlock: { block },
    getBalancesByAddresses: { addresses: [address] },
    getUtxosByAddresses: { addresses: [address] },
    getMempoolEntry: { transactionId: entry.transaction.verboseData.transactionId },
    getMempoolEntriesByAddresses: { addresses: [address] },
    submitTransaction: { transaction: entry.transaction },
    submitTransactionReplacement: { transaction: entry.transaction },
  }
}

interface AcceptedBy {
  chainBlockHeader: { daaScore: number | bigint }
  acceptedTransactions: {
    version: number
    inputs: object[]
    verboseData: { transactionId: string }
  }[]
}

/** A payment that is accepted so deep in the chain that it stays there. */
async function payment(call: ExactCall, startHash: string) {
  const { chainBlockAcceptedTransactions } = await call('getVirtualChainFromBlockV2', {
    startHash,
    dataVerbosityLevel: 'Full',
  })
  const blocks = (chainBlockAcceptedTransactions as AcceptedBy[]).slice(0, -20)
  for (const { chainBlockHeader, acceptedTransactions } of blocks.reverse()) {
    const found = acceptedTransactions.find(({ version, inputs }) => version === 0 && inputs.length === 1)
    if (found !== undefined)
      return { txId: found.verboseData.transactionId, daaScore: chainBlockHeader.daaScore }
  }
  throw new Error('no payment in the chain')
}

/** Real nodes do not implement these. */
const NOT_IMPLEMENTED = ['getSubnetwork', 'getHeaders']
/** The chain grows in the meantime: a pending transaction may be accepted, and the sink may leave the chain. */
const MOVING = [
  'getSeqCommitLaneProof',
  'getMempoolEntry',
  'submitTransaction',
  'submitTransactionReplacement',
]

/** Methods that no node implements must be refused, those that depend on the moment may be, all others must not. */
export function assertRefused(refused: readonly string[]): void {
  const others = refused.filter((method) => !MOVING.includes(method))
  assert.deepEqual(others.sort(), NOT_IMPLEMENTED.toSorted())
}
