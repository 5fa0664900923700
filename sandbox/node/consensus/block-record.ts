/**
 * A block with its place in the DAG. Ten minutes of blocks as objects would take most of the process's memory, so the
 * content of an old block is kept packed and unpacked on demand.
 */
import { deserialize, serialize } from 'node:v8'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { Lru } from '../../../src/kit/lru.ts'
import { type Acceptance, changesOf } from './accept.ts'
import type { Block } from './model.ts'

interface RecordLinks {
  hash: string
  /** Order of arrival; a parent's is always smaller. */
  seq: number
  daaScore: bigint
  parents: string[]
  selectedParent: string | undefined
  /** Merge set: the selected parent first, then by blue work. */
  blues: string[]
  reds: string[]
  children: string[]
}

interface RecordContent {
  block: Block
  /** Set once the block has been on the selected chain. */
  acceptance: Acceptance | undefined
}

/**
 * Blocks that became old together, compressed as one piece, because separately they would take three times the space.
 */
interface PackedBlocks {
  readonly bytes: Uint8Array
}

interface PackedContent {
  readonly packed: PackedBlocks
  readonly index: number
}

/** The form that is written to disk and sent to other processes. */
export interface SavedRecord extends RecordLinks {
  content: RecordContent | PackedContent
}

const recentlyUnpacked = new Lru<PackedBlocks, RecordContent[]>({ maxEntries: 4 })

export class BlockRecord implements RecordLinks {
  readonly hash: string
  readonly seq: number
  readonly daaScore: bigint
  readonly parents: string[]
  readonly selectedParent: string | undefined
  readonly blues: string[]
  readonly reds: string[]
  readonly children: string[]
  #content: RecordContent | PackedContent

  constructor(saved: SavedRecord) {
    this.hash = saved.hash
    this.seq = saved.seq
    this.daaScore = saved.daaScore
    this.parents = saved.parents
    this.selectedParent = saved.selectedParent
    this.blues = saved.blues
    this.reds = saved.reds
    this.children = [...saved.children]
    this.#content = { ...saved.content }
  }

  get block(): Block {
    return this.#unpacked().block
  }

  get acceptance(): Acceptance | undefined {
    return this.#unpacked().acceptance
  }

  set acceptance(acceptance: Acceptance) {
    this.#content = { block: this.block, acceptance }
  }

  get isPacked(): boolean {
    return 'packed' in this.#content
  }

  saved(): SavedRecord {
    const { hash, seq, daaScore, parents, selectedParent, blues, reds, children } = this
    return { hash, seq, daaScore, parents, selectedParent, blues, reds, children, content: this.#content }
  }

  #unpacked(): RecordContent {
    const content = this.#content
    if (!('packed' in content)) return content
    const { packed, index } = content
    const contents = recentlyUnpacked.get(packed) ?? unpack(packed)
    recentlyUnpacked.set(packed, contents)
    const found = contents[index]
    if (found === undefined) throw new RangeError(`block ${this.hash} is not where it was packed`)
    return found
  }

  /** Packs these records together. */
  static pack(records: readonly BlockRecord[]): void {
    const contents = records.map(({ block, acceptance, daaScore }) => ({
      block,
      // Without the log of changes, which can be derived from the transactions.
      accepted: acceptance && { transactions: acceptance.transactions, fees: acceptance.fees },
      daaScore,
    }))
    const packed = { bytes: compress(contents) }
    for (const [index, record] of records.entries()) record.#content = { packed, index }
  }
}

function unpack({ bytes }: PackedBlocks): RecordContent[] {
  const contents = decompress(bytes) as {
    block: Block
    accepted: Pick<Acceptance, 'transactions' | 'fees'> | undefined
    daaScore: bigint
  }[]
  return contents.map(({ block, accepted, daaScore }) => {
    const log = accepted?.transactions.flatMap(({ tx, spent }) => changesOf(tx, spent, daaScore)) ?? []
    return { block, acceptance: accepted && { ...accepted, log } }
  })
}

/** Copies the result, because the compressor returns a slice of a larger buffer. */
export function compress(value: unknown): Buffer {
  return Buffer.from(deflateRawSync(serialize(value)))
}

export function decompress(bytes: Uint8Array): unknown {
  return deserialize(inflateRawSync(bytes))
}
