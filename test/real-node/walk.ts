/** An independent walk over a real node with its plain methods: the truth about every transaction and address. */
import assert from 'node:assert/strict'
import type { LogTruth } from '../fakes/chain-truth.ts'
import type { RealNode } from './real-node.ts'
import { readOperation, type TokenOperation, tokensOf, type WalkedToken } from './walk-tokens.ts'

interface WalkedBlock {
  readonly hash: string
  readonly blueScore: bigint
  readonly timeMs: number
  readonly mergeSet: readonly string[]
  readonly transactions: readonly WalkedTransaction[]
}

interface WalkedTransaction {
  readonly id: string
  readonly inputs: readonly { readonly transactionId: string; readonly index: number }[]
  readonly outputs: readonly {
    readonly address: string | undefined
    readonly value: bigint
    readonly covenantId: string | undefined
  }[]
  readonly payload: string
  /** What unlocks its first input. */
  readonly firstScript: string
}

export interface Acceptance {
  readonly transactionId: string
  readonly acceptingBlockHash: string
  readonly acceptingBlueScore: bigint
  /** Place in the order of acceptance. */
  readonly place: number
  /** Times of the merged blocks that carry it: the node takes one of them. */
  readonly carriers: ReadonlyMap<string, number>
  readonly received: bigint
  readonly sent: bigint
}

export interface Walk extends LogTruth {
  /** Everything accepted, for all addresses. */
  readonly accepted: ReadonlyMap<string, Omit<Acceptance, 'received' | 'sent'> & { readonly fee: bigint }>
  of(address: string): readonly Acceptance[]
  readonly covenants: ReadonlyMap<string, WalkedCovenant>
  /** KRC-20, by tick. */
  readonly tokens: ReadonlyMap<string, WalkedToken>
}

interface WalkedCovenant {
  /** Oldest first. */
  readonly steps: { readonly txId: string; readonly kind: 'genesis' | 'continuation' | 'burn' }[]
  /** `txid:index` */
  readonly unspent: Set<string>
}

interface RawBlock {
  header: { hash: string; blueScore: number; timestamp: number }
  transactions: {
    inputs: { previousOutpoint: { transactionId: string; index: number }; signatureScript: string }[]
    payload: string
    outputs: {
      value: number | bigint
      verboseData: { scriptPublicKeyAddress: string } | null
      covenant: { covenantId: string } | null
    }[]
    verboseData: { transactionId: string }
  }[]
  verboseData: { mergeSetBluesHashes: string[]; mergeSetRedsHashes: string[] }
}

const TOGETHER = 16

export async function walk(node: RealNode, wallets: readonly { readonly address: string }[]): Promise<Walk> {
  const { rpc } = node
  const { pruningPointHash } = await rpc.call('getBlockDagInfo')
  const chainIds: { hash: string; ids: readonly string[] }[] = []
  for (let from = String(pruningPointHash); ; ) {
    const answer = await rpc.call('getVirtualChainFromBlock', {
      ...{ startHash: from, includeAcceptedTransactionIds: true },
    })
    const accepted = answer.acceptedTransactionIds as {
      acceptingBlockHash: string
      acceptedTransactionIds: string[]
    }[]
    assert.deepEqual(answer.removedChainBlockHashes, [])
    if (accepted.length === 0) break
    for (const one of accepted)
      chainIds.push({ hash: one.acceptingBlockHash, ids: one.acceptedTransactionIds })
    from = chainIds.at(-1)?.hash ?? from
  }
  const blocks = new Map<string, WalkedBlock>()
  const read = async (hashes: readonly string[]) => {
    const missing = [...new Set(hashes)].filter((hash) => !blocks.has(hash))
    for (let at = 0; at < missing.length; at += TOGETHER)
      await Promise.all(
        missing.slice(at, at + TOGETHER).map(async (hash) => {
          const { block } = await rpc.call('getBlock', { hash, includeTransactions: true })
          blocks.set(hash, readBlock(block as RawBlock))
        }),
      )
  }
  await read([String(pruningPointHash), ...chainIds.map(({ hash }) => hash)])
  await read([...blocks.values()].flatMap(({ mergeSet }) => mergeSet))

  const outputs = new Map<string, WalkedTransaction['outputs']>()
  for (const { transactions } of blocks.values())
    for (const { id, outputs: own } of transactions) outputs.set(id, own)
  const accepted = new Map<string, Omit<Acceptance, 'received' | 'sent'> & { fee: bigint }>()
  const byAddress = new Map<string, Acceptance[]>()
  const covenants = new Map<string, WalkedCovenant>()
  const operations: TokenOperation[] = []
  for (const { hash, ids } of chainIds) {
    const { mergeSet, blueScore } = found(blocks, hash)
    const merged = mergeSet.map((each) => found(blocks, each))
    for (const transactionId of ids) {
      const carrying = merged.filter(({ transactions }) =>
        transactions.some(({ id }) => id === transactionId),
      )
      const transaction = carrying[0]?.transactions.find(({ id }) => id === transactionId)
      assert.ok(transaction, `${transactionId} is in no block that ${hash} merges`)
      const spent = transaction.inputs.map(
        ({ transactionId: id, index }) =>
          found(outputs, id)[index] ?? assert.fail(`${id}:${index} is unknown`),
      )
      const fee = total(spent) - total(transaction.outputs)
      const base = {
        ...{ transactionId, acceptingBlockHash: hash, acceptingBlueScore: blueScore, place: accepted.size },
        carriers: new Map(carrying.map((block) => [block.hash, block.timeMs])),
      }
      noteCovenants(covenants, transaction, spent)
      const operation = readOperation({ ...transaction, firstAddress: spent[0]?.address, fee })
      if (operation !== undefined) operations.push(operation)
      assert.ok(!accepted.has(transactionId), `${transactionId} is accepted twice`)
      accepted.set(transactionId, { ...base, fee })
      for (const address of new Set([...spent, ...transaction.outputs].map((cell) => cell.address))) {
        if (address === undefined) continue
        const own = (cells: WalkedTransaction['outputs']) =>
          total(cells.filter((cell) => cell.address === address))
        const list = byAddress.get(address) ?? []
        list.push({ ...base, received: own(transaction.outputs), sent: own(spent) })
        byAddress.set(address, list)
      }
    }
  }
  const of = (address: string) => byAddress.get(address) ?? []
  const chain = chainIds.map(({ hash, ids }) => {
    const { blueScore, mergeSet } = found(blocks, hash)
    return { hash, blueScore, mergeSet, accepted: ids.map((transactionId) => ({ transactionId })) }
  })
  return {
    accepted,
    of,
    covenants,
    tokens: tokensOf(operations),
    truth: { chain: () => chain, address: (address) => ({ transactions: of(address) }) },
    wallets: () => wallets,
  }
}

function noteCovenants(
  covenants: Map<string, WalkedCovenant>,
  { id, inputs, outputs }: WalkedTransaction,
  spent: WalkedTransaction['outputs'],
): void {
  const ids = new Set([...spent, ...outputs].flatMap(({ covenantId }) => covenantId ?? []))
  for (const covenantId of ids) {
    const { steps, unspent } = covenants.get(covenantId) ?? { steps: [], unspent: new Set<string>() }
    covenants.set(covenantId, { steps, unspent })
    const goesOn = outputs.some((output) => output.covenantId === covenantId)
    const isSpent = spent.some((output) => output.covenantId === covenantId)
    steps.push({ txId: id, kind: goesOn ? (isSpent ? 'continuation' : 'genesis') : 'burn' })
    for (const { transactionId, index } of inputs) unspent.delete(`${transactionId}:${index}`)
    for (const [index, output] of outputs.entries())
      if (output.covenantId === covenantId) unspent.add(`${id}:${index}`)
  }
}

function readBlock({ header, transactions, verboseData }: RawBlock): WalkedBlock {
  return {
    hash: header.hash,
    blueScore: BigInt(header.blueScore),
    timeMs: header.timestamp,
    mergeSet: [...verboseData.mergeSetBluesHashes, ...verboseData.mergeSetRedsHashes],
    transactions: transactions.map((transaction) => ({
      id: transaction.verboseData.transactionId,
      payload: transaction.payload,
      firstScript: transaction.inputs[0]?.signatureScript ?? '',
      inputs: transaction.inputs.map(({ previousOutpoint }) => previousOutpoint),
      outputs: transaction.outputs.map(({ value, verboseData: owner, covenant }) => ({
        ...{ value: BigInt(value), address: owner?.scriptPublicKeyAddress, covenantId: covenant?.covenantId },
      })),
    })),
  }
}

const total = (cells: readonly { readonly value: bigint }[]) =>
  cells.reduce((sum, { value }) => sum + value, 0n)

function found<T>(map: ReadonlyMap<string, T>, key: string): T {
  return map.get(key) ?? assert.fail(`${key} was not walked over`)
}
