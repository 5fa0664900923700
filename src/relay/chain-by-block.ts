/**
 * Reads the chain piecemeal if a node cannot return it whole. getVirtualChainFromBlockV2 refuses every answer that
 * contains a transaction with an output that has no address form. No mempool takes such a transaction, but a block may
 * carry it, and until that block is pruned the call would never get past it.
 *
 *   refused ─▶ up to the block before it, by asking for deeper blocks only ─▶ that block alone, from the blocks that it
 *              merges, without what its inputs spend ─▶ the rest is whole again
 */
import { type ExactJson, type JsonLimits, parseExactInSlices, writeExact } from '../kit/exact-json.ts'
import { elementsOf, hasList } from '../kit/json-slices.ts'
import { Slice } from '../kit/time-slices.ts'

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

/** For one block, or the ids of what it accepted. A full block takes a third of it. */
const PART_LIMITS: JsonLimits = { maxDepth: 64, maxChars: 16 * 1024 * 1024, maxValues: 1_000_000 }

/** For the transactions that the block accepted. No node could send more in one frame either. */
const MAX_ACCEPTED_BYTES = 128 * 1024 * 1024

/**
 * An answer in the form of getVirtualChainFromBlockV2 with at least one block; undefined if the node does not provide
 * it.
 */
export async function chainByBlock(ask: Ask, startHash: string): Promise<Uint8Array | undefined> {
  const read = async <T>(method: string, params: Record<string, ExactJson>): Promise<T | undefined> => {
    const asked = await ask(method, params)
    return asked.kind === 'answer' ? parsePart<T>(asked.bytes) : undefined
  }
  const blockOf = async (hash: string, includeTransactions: boolean) =>
    (await read<{ block: Block }>('getBlock', { hash, includeTransactions }))?.block

  const chainParams = { startHash, includeAcceptedTransactionIds: true }
  const chain = await ask('getVirtualChainFromBlock', chainParams)
  if (chain.kind !== 'answer' || !(await hasList(chain.bytes, 'removedChainBlockHashes'))) return undefined
  const removed = await hashesIn(chain.bytes, 'removedChainBlockHashes')
  const added = await hashesIn(chain.bytes, 'addedChainBlockHashes')
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
  const acceptedIds = await firstAcceptedIds(chain.bytes)
  if (acceptedIds === undefined) return undefined
  const { mergeSetBluesHashes, mergeSetRedsHashes } = block.verboseData
  const accepted = await acceptedFrom(
    [...mergeSetBluesHashes, ...mergeSetRedsHashes],
    acceptedIds,
    (merged) => blockOf(merged, true),
  )
  if (accepted === undefined) return undefined
  const chainBlockHeader = {
    ...(block.header as unknown as Record<string, ExactJson>),
    parentsByLevel: [[1, block.header.parentsByLevel[0] ?? []]],
  }
  const head = writeExact({ removedChainBlockHashes: removed, addedChainBlockHashes: [hash] }).slice(0, -1)
  return concatInSlices([
    Buffer.from(
      `${head},"chainBlockAcceptedTransactions":[{"chainBlockHeader":${writeExact(chainBlockHeader)}`,
    ),
    Buffer.from(',"acceptedTransactions":['),
    ...accepted,
    Buffer.from(']}]}'),
  ])
}

/**
 * The texts of the accepted transactions, with the commas between them; undefined if the merged blocks do not contain
 * all of them. They can be hundreds of thousands, so they are taken over in turns of the loop, and nothing else of the
 * merged blocks is kept.
 */
async function acceptedFrom(
  merged: readonly string[],
  acceptedIds: readonly string[],
  blockOf: (hash: string) => Promise<Block | undefined>,
): Promise<Buffer[] | undefined> {
  const slice = new Slice()
  const awaited = new Set(acceptedIds)
  const carried = new Map<string, Buffer>()
  let bytes = 0
  for (const hash of merged) {
    const found = await blockOf(hash)
    if (found === undefined) return undefined
    for (const transaction of found.transactions) {
      if (slice.isOver) await slice.next()
      const { transactionId } = transaction.verboseData
      // Of several copies the first one counts.
      if (!awaited.delete(transactionId)) continue
      const text = Buffer.from(writeExact(transaction as unknown as ExactJson))
      bytes += text.length
      if (bytes > MAX_ACCEPTED_BYTES) return undefined
      carried.set(transactionId, text)
    }
  }
  const texts: Buffer[] = []
  for (const id of acceptedIds) {
    if (slice.isOver) await slice.next()
    const text = carried.get(id)
    if (text === undefined) return undefined
    if (texts.length > 0) texts.push(COMMA)
    texts.push(text)
  }
  return texts
}

const COMMA = Buffer.from(',')

/** Copying into new memory takes a millisecond per megabyte. */
async function concatInSlices(parts: readonly Buffer[]): Promise<Buffer> {
  const slice = new Slice()
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    if (slice.isOver) await slice.next()
    at += part.copy(whole, at)
  }
  return whole
}

/** Refused by size first, because an answer can have a hundred megabytes. */
async function parsePart<T>(bytes: Buffer): Promise<T | undefined> {
  if (bytes.length > PART_LIMITS.maxChars) return undefined
  const read = await parseExactInSlices(bytes.toString('utf8'), PART_LIMITS)
  return read.ok ? (read.value as T) : undefined
}

async function hashesIn(answer: Buffer, list: string): Promise<string[]> {
  const hashes: string[] = []
  for await (const text of elementsOf(answer, list)) hashes.push(text.slice(1, -1))
  return hashes
}

/** Of the chain's first block only; the answer has the ids for thousands. */
async function firstAcceptedIds(answer: Buffer): Promise<readonly string[] | undefined> {
  type Accepted = { readonly acceptedTransactionIds: readonly string[] }
  for await (const text of elementsOf(answer, 'acceptedTransactionIds'))
    return (await parsePart<Accepted>(Buffer.from(text)))?.acceptedTransactionIds
  return (await hasList(answer, 'acceptedTransactionIds')) ? [] : undefined
}

/** Only looks for a first block, because the answer can have many megabytes and is parsed where it is applied. */
async function hasBlocks(answer: Uint8Array): Promise<boolean> {
  for await (const _ of elementsOf(answer, 'addedChainBlockHashes')) return true
  return false
}
