/**
 * A position in the log where events are missing because the chain could not be read. It is written together with the
 * recorded gap and numbered like an event, so that a reader who resumes before it meets it in order. Nobody can
 * subscribe to it; the stream turns it into its `gap` message.
 */
import type { ChainBlock, ChainGap } from '../store/chain.ts'
import type { NewEvent } from '../store/events.ts'
import { ACCEPTED_KINDS, EVENT_KINDS, type EventKind, PARSED_KINDS } from './kinds.ts'

export const GAP_KIND = 'gap'

/** The kinds whose events are missing in a gap, by reason. */
const MISSING: Record<ChainGap['reason'], readonly EventKind[]> = {
  pruned: EVENT_KINDS,
  blocks_pruned: ['block_added'],
  unreadable: ['utxos_changed', ...Object.values(PARSED_KINDS), ...ACCEPTED_KINDS],
}

export interface GapNotice {
  readonly reason: ChainGap['reason']
  readonly kinds: readonly EventKind[]
  /** Times of the blocks around the gap. */
  readonly from: string
  readonly to: string
}

export function gapBetween(
  from: ChainBlock,
  to: ChainBlock,
  reason: ChainGap['reason'],
  atMs: number,
): ChainGap {
  return {
    atMs,
    fromHash: from.hash,
    fromBlueScore: from.blueScore,
    fromTimeMs: from.timeMs,
    toHash: to.hash,
    toTimeMs: to.timeMs,
    reason,
  }
}

export function gapEvent({ reason, fromTimeMs, toTimeMs, atMs }: ChainGap): NewEvent {
  const notice: GapNotice = {
    reason,
    kinds: MISSING[reason],
    from: new Date(fromTimeMs).toISOString(),
    to: new Date(toTimeMs).toISOString(),
  }
  const tail = `"kind":"${GAP_KIND}","data":${JSON.stringify(notice)}}`
  return { kind: GAP_KIND, addresses: [], createdAtMs: atMs, tail }
}

export function readGapEvent(text: string): GapNotice {
  return (JSON.parse(text) as { data: GapNotice }).data
}
