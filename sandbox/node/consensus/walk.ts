/** Queries about a ledger's DAG that clients page through. */
import type { BlockRecord } from './block-record.ts'
import type { Ledger } from './ledger.ts'

interface ChainPath {
  removed: string[]
  added: string[]
}

/** The path from a block to the sink: what a follower at that block must undo, then what it must add. */
export function chainPath(ledger: Ledger, low: string): ChainPath | undefined {
  const removed: string[] = []
  let at: string | undefined = low
  while (at !== undefined && !ledger.isChainBlock(at)) {
    removed.push(at)
    at = ledger.record(at)?.selectedParent
  }
  if (at === undefined) return undefined
  return { removed, added: ledger.chain.slice(ledger.chainPosition(at) + 1) }
}

const mergeSetOf = (record: BlockRecord) => [...record.blues, ...record.reds]

/**
 * Blocks in the past of the sink but not of `low`, in the order of the chain, in whole merge sets. If `low` has left
 * the chain, they begin after the last chain block in its own past, as on the real node.
 */
export function hashesBetween(
  ledger: Ledger,
  low: string,
  max: number,
): { hashes: string[]; reachedSink: boolean } {
  const hashes: string[] = []
  let common: string | undefined = low
  while (common !== undefined && !ledger.isChainBlock(common)) common = ledger.record(common)?.selectedParent
  if (common === undefined) return { hashes, reachedSink: true }
  const position = ledger.chainPosition(common)
  const hidden = common === low ? new Set<string>() : pastOf(ledger, low, position)
  for (const hash of ledger.chain.slice(position + 1)) {
    const record = ledger.record(hash)
    if (record === undefined) continue
    // The first retained blocks merge some that are no longer retained.
    const merged = mergeSetOf(record).filter(
      (found) =>
        found !== record.selectedParent &&
        found !== low &&
        !hidden.has(found) &&
        ledger.record(found) !== undefined,
    )
    if (hashes.length + merged.length + 1 > max) return { hashes, reachedSink: false }
    hashes.push(...merged, hash)
  }
  return { hashes, reachedSink: true }
}

/** Late blocks reach this far below the chain block that they are compared with. */
const PAST_DEPTH = 64

/**
 * The recent past of a block that is off the chain: enough to leave it out of the merge sets after the common block.
 */
function pastOf(ledger: Ledger, low: string, position: number): Set<string> {
  const floor = ledger.record(ledger.chain[Math.max(0, position - PAST_DEPTH)] ?? '')?.seq ?? 0
  const seen = new Set<string>()
  const open = [...(ledger.record(low)?.parents ?? [])]
  for (let hash = open.pop(); hash !== undefined; hash = open.pop()) {
    const record = ledger.record(hash)
    if (record === undefined || record.seq < floor || seen.has(hash)) continue
    seen.add(hash)
    open.push(...record.parents)
  }
  return seen
}

/** Blocks that are neither in the sink's past nor have the sink in theirs. */
export function sinkAnticone(ledger: Ledger): string[] {
  const { blues, reds, selectedParent } = ledger.virtual
  return [...blues, ...reds].filter((hash) => hash !== selectedParent)
}
