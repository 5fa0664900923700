/**
 * Reads the chain piecemeal if a node cannot return it whole. getVirtualChainFromBlockV2 refuses every answer that
 * contains a transaction with an output that has no address form. No mempool takes such a transaction, but a block may
 * carry it, and until that block is pruned the call would never get past it.
 *
 *   refused ─▶ up to the block before it, by asking for deeper blocks only ─▶ that block alone, from the blocks that it
 *              merges, without what its inputs spend ─▶ the rest is whole again
 */
import type { ExactJson } from '../kit/exact-json.ts'
import { parseExact, writeExact } from '../kit/exact-json.ts'
import { elementsOf } from '../kit/json-slices.ts'

/** Calls the node that refused the whole answer. */
type Ask = (method: string, params: Record<string, ExactJson>) => Promise<Asked>
export type Asked =
  | { readonly kind: 'answer'; readonly bytes: Buffer }
  | { readonly kind: 'no_address' | 'failed' }

interface Block {
  readonly header: { readonly blueScore: number; readonly parentsByLevel: readonly ExactJson[] }
  readonly transactions: readonly { readonly verboseData: { readonly transactionId: string } }[]
  readonly verboseData: {
    readonly mergeSetBluesHashes: readonly string[]
    readonly mergeSetRedsHashes: readonly string[]
  }
}

interface PlainChain {
  readonly removedChainBlockHashes: readonly string[]
  readonly addedChainBlockHashes: readonly string[]
  readonly acceptedTransactionIds: readonly { readonly acceptedTransactionIds: readonly string[] }[]
}

/**
 * An answer in the form of getVirtualChainFromBlockV2 with at least one block; undefined if the node does not provide
 * it.
 */
export async function chainByBlock(ask: Ask, startHash: string): Promise<Uint8Array | undefined> {
  const read = async <T>(method: string, params: Record<string, ExactJson>): Promise<T | undefined> => {
    const asked = await ask(method, params)
    const parsed = asked.kind === 'answer' ? parseExact(asked.bytes.toString('utf8')) : undefined
    return parsed?.ok ? (parsed.value as T) : undefined
  }
  const blockOf = async (hash: string, includeTransactions: boolean) =>
    (await read<{ block: Block }>('getBlock', { hash, includeTransactions }))?.block

  const chain = await read<PlainChain>('getVirtualChainFromBlock', {
    startHash,
    includeAcceptedTransactionIds: true,
  })
  if (chain === undefined) return undefined
  const added = chain.addedChainBlockHashes
  for (let count = added.length; count > 1; ) {
    count = Math.floor(count / 2)
    const last = await blockOf(added[count - 1] ?? '', false)
    const sink = await read<{ blueScore: number }>('getSinkBlueScore', {})
    if (last === undefined || sink === undefined) return undefined
    const minConfirmationCount = Number(sink.blueScore) - Number(last.header.blueScore) - 1
    // Too close to the end of the chain to be separated from the blocks after it.
    if (minConfirmationCount < 1) continue
    const params = { startHash, dataVerbosityLevel: 'Full', minConfirmationCount }
    const part = await ask('getVirtualChainFromBlockV2', params)
    if (part.kind === 'failed') return undefined
    if (part.kind === 'answer' && (await hasBlocks(part.bytes))) return part.bytes
  }
  const [hash] = added
  const block = hash === undefined ? undefined : await blockOf(hash, false)
  if (hash === undefined || block === undefined) return undefined
  const carried = new Map<string, ExactJson>()
  const { mergeSetBluesHashes, mergeSetRedsHashes } = block.verboseData
  for (const merged of [...mergeSetBluesHashes, ...mergeSetRedsHashes]) {
    const found = await blockOf(merged, true)
    if (found === undefined) return undefined
    for (const transaction of found.transactions) {
      const { transactionId } = transaction.verboseData
      // Of several copies the first one counts.
      if (!carried.has(transactionId)) carried.set(transactionId, transaction as unknown as ExactJson)
    }
  }
  const acceptedTransactions = (chain.acceptedTransactionIds[0]?.acceptedTransactionIds ?? []).map((id) =>
    carried.get(id),
  )
  if (acceptedTransactions.includes(undefined)) return undefined
  const chainBlockHeader = {
    ...(block.header as unknown as Record<string, ExactJson>),
    parentsByLevel: [[1, block.header.parentsByLevel[0] ?? []]],
  }
  const answer = {
    removedChainBlockHashes: chain.removedChainBlockHashes,
    addedChainBlockHashes: [hash],
    chainBlockAcceptedTransactions: [{ chainBlockHeader, acceptedTransactions }],
  }
  return Buffer.from(writeExact(answer as unknown as ExactJson))
}

/** Only looks for a first block, because the answer can have many megabytes and is parsed where it is applied. */
async function hasBlocks(answer: Uint8Array): Promise<boolean> {
  for await (const _ of elementsOf(answer, 'addedChainBlockHashes')) return true
  return false
}
