/** The chain with its transactions has the members of a real node (rusty-kaspa 2.0.1), at each level of detail. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainClient } from '../../../test/fakes/plain-node-client.ts'
import { startSandboxNode } from '../run.ts'

type Members = Record<string, unknown>

/** The members that a real node fills at each level; the others are present and null. */
const GIVEN = {
  header: {
    None: 'hash',
    Low: 'hash version timestamp bits nonce daaScore blueWork blueScore',
    High: 'hash version timestamp bits nonce daaScore blueWork blueScore parentsByLevel hashMerkleRoot acceptedIdMerkleRoot',
    Full: 'hash version timestamp bits nonce daaScore blueWork blueScore parentsByLevel hashMerkleRoot acceptedIdMerkleRoot utxoCommitment pruningPoint',
  },
  transaction: {
    None: 'inputs outputs subnetworkId gas payload storageMass mass verboseData',
    Low: 'inputs outputs subnetworkId gas payload storageMass mass verboseData',
    High: 'inputs outputs subnetworkId gas payload storageMass mass verboseData',
    Full: 'inputs outputs subnetworkId gas payload storageMass mass verboseData version lockTime',
  },
  verboseData: {
    None: '',
    Low: 'transactionId hash blockHash blockTime',
    High: 'transactionId hash blockHash blockTime computeMass',
    Full: 'transactionId hash blockHash blockTime computeMass',
  },
  input: {
    None: 'verboseData',
    Low: 'verboseData signatureScript',
    High: 'verboseData signatureScript previousOutpoint sequence sigOpCount computeBudget',
    Full: 'verboseData signatureScript previousOutpoint sequence sigOpCount computeBudget',
  },
  output: {
    None: 'verboseData',
    Low: 'verboseData value scriptPublicKey',
    High: 'verboseData value scriptPublicKey',
    Full: 'verboseData value scriptPublicKey',
  },
} as const

const given = (members: Members) =>
  Object.keys(members)
    .filter((name) => members[name] !== null)
    .sort()
    .join(' ')
const sorted = (names: string) => names.split(' ').sort().join(' ')

test('what is null at each level is what a real node leaves out there', async (t) => {
  const node = await startSandboxNode({ seed: 12, transactionsPerSecond: 20, warmUpBlocks: 60 })
  t.after(() => node.close())
  const client = await plainClient(node.url)
  t.after(() => client.close())
  const startHash = node.truth.chain()[20]?.hash
  for (const level of ['None', 'Low', 'High', 'Full'] as const) {
    const answer = await client.call('getVirtualChainFromBlockV2', { startHash, dataVerbosityLevel: level })
    const blocks = answer.chainBlockAcceptedTransactions as {
      chainBlockHeader: Members
      acceptedTransactions: (Members & { inputs: Members[]; outputs: Members[]; verboseData: Members })[]
    }[]
    assert.equal(given(blocks[0]?.chainBlockHeader ?? {}), sorted(GIVEN.header[level]))
    const payment = blocks
      .flatMap(({ acceptedTransactions }) => acceptedTransactions)
      .find(({ inputs, outputs }) => inputs.length > 0 && outputs.every(({ covenant }) => covenant === null))
    assert.ok(payment)
    assert.equal(given(payment), sorted(GIVEN.transaction[level]))
    assert.equal(given(payment.verboseData), sorted(GIVEN.verboseData[level]))
    assert.equal(given(payment.inputs[0] ?? {}), sorted(GIVEN.input[level]))
    assert.equal(given(payment.outputs[0] ?? {}), sorted(GIVEN.output[level]))
  }
})

test('parents come in runs of levels, each with the number of levels up to its end', async (t) => {
  const node = await startSandboxNode({ seed: 12, warmUpBlocks: 60 })
  t.after(() => node.close())
  const client = await plainClient(node.url)
  t.after(() => client.close())
  const [, startHash, next] = node.truth.chain().map(({ hash }) => hash)
  const answer = await client.call('getVirtualChainFromBlockV2', { startHash, dataVerbosityLevel: 'Full' })
  const [first] = answer.chainBlockAcceptedTransactions as { chainBlockHeader: Members }[]
  assert.equal(first?.chainBlockHeader.hash, next)
  const { block } = await client.call('getBlock', { hash: next, includeTransactions: false })
  const levels = (block as { header: { parentsByLevel: string[][] } }).header.parentsByLevel
  const runs = first?.chainBlockHeader.parentsByLevel as [number, string[]][]
  assert.deepEqual(
    runs.flatMap(([end, parents], i) => Array.from({ length: end - (runs[i - 1]?.[0] ?? 0) }, () => parents)),
    levels,
  )
})
