/** Reads recorded frames with every instrument taken for one of ours, so that no frame hides behind its symbol. */
import type { FrameOutcome, FrameProtocol } from '../../src/venues/live/frame.ts'
import type { DataObservation } from '../../src/venues/observation.ts'

export const anyInstrument = { fromVenue: () => 'BTC' as const }

export interface Listed {
  /** Part of the frame's text. */
  readonly holds: string
  readonly outcome: 'ignored' | 'refused' | 'pong' | 'accepted' | 'leaving'
  readonly why: string
}

/** `data`, or the listed outcome of a frame; anything else is reported with its place. */
export function outcomesOf(
  protocol: FrameProtocol,
  frames: readonly { at: string; msg: unknown }[],
  listed: readonly Listed[],
): {
  observations: DataObservation[]
  unexpected: string[]
  unused: string[]
  /** How many frames had the outcome of each entry, by what it holds. */
  listedFrames: Record<string, number>
} {
  const observations: DataObservation[] = []
  const unexpected: string[] = []
  const used: Listed[] = []
  for (const frame of frames) {
    const text = JSON.stringify(frame.msg)
    const outcome: FrameOutcome = protocol.read(text, 1_800_000_000_000)
    if (outcome.kind === 'data' && outcome.refused === undefined) {
      observations.push(...outcome.items.map((item) => item.observation))
      continue
    }
    const entry = listed.find((each) => text.includes(each.holds) && each.outcome === outcome.kind)
    if (entry === undefined) unexpected.push(`${frame.at}: ${JSON.stringify(outcome)}`)
    else used.push(entry)
  }
  return {
    observations,
    unexpected,
    unused: listed.filter((each) => !used.includes(each)).map((each) => each.holds),
    listedFrames: countBy(used, (each) => each.holds),
  }
}

export function countBy<T>(items: readonly T[], nameOf: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const item of items) counts[nameOf(item)] = (counts[nameOf(item)] ?? 0) + 1
  return counts
}

/** The event of a Binance frame, read without our wire types: its name, or the stream where it has none. */
export function eventOf({ msg }: { readonly msg: unknown }): string {
  const { stream, data, e } = msg as { stream?: string; data?: { e?: string }; e?: string }
  return data?.e ?? e ?? stream?.split('@')[1] ?? 'none'
}
