/**
 * The answers of an oracle that candles may still need, each once and in order, so that a candle reads only its own.
 */
import type { OracleUpdate } from '../../core/oracle-candles.ts'
import type { HistoryRange } from '../../venues/venue.ts'

export type OracleUpdates = ReturnType<typeof createOracleUpdates>

export function createOracleUpdates() {
  const kept: OracleUpdate[] = []
  const rounds = new Set<bigint>()

  const isBefore = (a: OracleUpdate, b: OracleUpdate) =>
    a.updatedMs < b.updatedMs || (a.updatedMs === b.updatedMs && a.roundId < b.roundId)

  function firstThat(isReached: (update: OracleUpdate) => boolean): number {
    let [low, high] = [0, kept.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const update = kept[middle]
      if (update !== undefined && isReached(update)) high = middle
      else low = middle + 1
    }
    return low
  }

  const firstAt = (timeMs: number) => firstThat(({ updatedMs }) => updatedMs >= timeMs)

  function drop(count: number): void {
    for (const { roundId } of kept.splice(0, count)) rounds.delete(roundId)
  }

  return {
    get size() {
      return kept.length
    },
    get oldestMs(): number | null {
      return kept[0]?.updatedMs ?? null
    },
    get newest(): OracleUpdate | undefined {
      return kept.at(-1)
    },
    get newestMs(): number | null {
      return kept.at(-1)?.updatedMs ?? null
    },
    /** The update before another one, by time. */
    before: (update: OracleUpdate): OracleUpdate | undefined =>
      kept[firstThat((each) => !isBefore(each, update)) - 1],
    /** Returns false for a round that is already known. */
    add({ updatedMs, roundId, price }: OracleUpdate) {
      if (rounds.has(roundId)) return false
      rounds.add(roundId)
      const update = { updatedMs, roundId, price }
      kept.splice(
        firstThat((each) => isBefore(update, each)),
        0,
        update,
      )
      return true
    },
    /** Forgets the round if it is known with another time or price; returns the time that it had. */
    forgetOther({ roundId, updatedMs, price }: OracleUpdate): number | undefined {
      if (!rounds.has(roundId)) return undefined
      const at = kept.findIndex((each) => each.roundId === roundId)
      const known = kept[at]
      if (known === undefined || (known.updatedMs === updatedMs && known.price === price)) return undefined
      kept.splice(at, 1)
      rounds.delete(roundId)
      return known.updatedMs
    },
    /** Forgets a round, and returns it with the times of those around it. */
    forget(roundId: bigint): { readonly forgotten: OracleUpdate; readonly around: HistoryRange } | undefined {
      const at = kept.findIndex((each) => each.roundId === roundId)
      const forgotten = kept[at]
      if (forgotten === undefined) return undefined
      const fromMs = kept[at - 1]?.updatedMs ?? forgotten.updatedMs
      const toMs = (kept[at + 1] ?? forgotten).updatedMs + 1
      kept.splice(at, 1)
      rounds.delete(roundId)
      return { forgotten, around: { fromMs, toMs } }
    },
    /** The updates in [fromMs, toMs) and the one before them. */
    around: (fromMs: number, toMs: number): readonly OracleUpdate[] =>
      kept.slice(Math.max(0, firstAt(fromMs) - 1), firstAt(toMs)),
    forgetBefore: (timeMs: number) => drop(firstAt(timeMs)),
    /** Drops the oldest updates; returns the range that they covered, up to the first one that is kept. */
    dropOldest(count: number): HistoryRange | undefined {
      const [first, next] = [kept[0], kept[count]]
      if (first === undefined || next === undefined) return undefined
      drop(count)
      return { fromMs: first.updatedMs, toMs: next.updatedMs }
    },
  }
}
