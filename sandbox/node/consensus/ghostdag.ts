/**
 * Orders the DAG. A block's selected parent is the parent with the most blue work. Its merge set is everything in its
 * past that is not in the selected parent's past. Colouring is simplified: a merged block is red if its blue score lies
 * more than K behind the selected parent, because it was mined without seeing the others for too long.
 */
import type { BlockRecord } from './block-record.ts'

export interface Ghostdag {
  selectedParent: string | undefined
  blues: string[]
  reds: string[]
  blueScore: bigint
  blueWork: bigint
  daaScore: bigint
}

type Records = ReadonlyMap<string, BlockRecord>

const workOf = (record: BlockRecord) => record.block.header.blueWork

/** More blue work wins, then the greater hash. */
function isHeavier(a: BlockRecord, b: BlockRecord): boolean {
  if (workOf(a) !== workOf(b)) return workOf(a) > workOf(b)
  return a.block.header.hash > b.block.header.hash
}

export function heaviest(records: Records, hashes: Iterable<string>): BlockRecord | undefined {
  let best: BlockRecord | undefined
  for (const hash of hashes) {
    const record = records.get(hash)
    if (record !== undefined && (best === undefined || isHeavier(record, best))) best = record
  }
  return best
}

/**
 * Walks back from all parents at once, latest arrival first, and marks what the selected parent reaches. When a block
 * is visited, all its descendants have been visited, so its mark is final.
 */
function mergeSet(records: Records, selected: BlockRecord, parents: readonly string[]): BlockRecord[] {
  const open = new Map<string, { record: BlockRecord; inPast: boolean }>()
  let outside = 0
  const visit = (hash: string, inPast: boolean) => {
    const record = records.get(hash)
    if (record === undefined) return
    const known = open.get(hash)
    if (known === undefined) {
      open.set(hash, { record, inPast })
      if (!inPast) outside += 1
    } else if (inPast && !known.inPast) {
      known.inPast = true
      outside -= 1
    }
  }
  const merged: BlockRecord[] = []
  visit(selected.block.header.hash, true)
  for (const parent of parents) visit(parent, parent === selected.block.header.hash)
  while (outside > 0) {
    let next: { record: BlockRecord; inPast: boolean } | undefined
    for (const candidate of open.values()) {
      if (next === undefined || candidate.record.seq > next.record.seq) next = candidate
    }
    if (next === undefined) break
    const { record, inPast } = next
    open.delete(record.block.header.hash)
    if (!inPast) {
      outside -= 1
      merged.push(record)
    }
    for (const parent of record.parents) visit(parent, inPast)
  }
  return merged.sort((a, b) => (isHeavier(a, b) ? 1 : -1))
}

export function ghostdag(
  records: Records,
  parents: readonly string[],
  k: number,
  workPerBlock: bigint,
): Ghostdag {
  const selected = heaviest(records, parents)
  if (selected === undefined) {
    return { selectedParent: undefined, blues: [], reds: [], blueScore: 0n, blueWork: 0n, daaScore: 0n }
  }
  const { header } = selected.block
  const blues = [header.hash]
  const reds: string[] = []
  for (const record of mergeSet(records, selected, parents)) {
    const behind = header.blueScore - record.block.header.blueScore
    if (behind <= BigInt(k) && blues.length <= k) blues.push(record.block.header.hash)
    else reds.push(record.block.header.hash)
  }
  return {
    selectedParent: header.hash,
    blues,
    reds,
    blueScore: header.blueScore + BigInt(blues.length),
    blueWork: header.blueWork + BigInt(blues.length) * workPerBlock,
    daaScore: header.daaScore + BigInt(blues.length + reds.length),
  }
}
