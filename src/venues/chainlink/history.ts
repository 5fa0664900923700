/**
 * Past rounds, ascending. A round that exists but on which the nodes disagree leaves a gap in the coverage, from the
 * round before it to the one after. So does a phase on whose end they disagree, up to the first round of the next.
 * Within a phase the times of rounds only grow, so the first round of a range is found by bisection; from there rounds
 * are read in order, across the borders of phases.
 *
 *   phase 6   ──●────●────●────●────●            the old contract may continue after the proxy has left it
 *   phase 7                 ●────●────●────●──   the new one may have rounds before the proxy moves to it
 *                           └ not covered ┘      unless the proxy was seen to move
 */

import type { DeadLetters } from '../dead-letter.ts'
import { misfit } from '../rest/expect-fit.ts'
import { rangeOrNull } from '../rest/history-range.ts'
import { VenueError } from '../rest/rest-client.ts'
import type { HistoryPage, HistoryRange } from '../venue.ts'
import {
  callPhaseAggregator,
  decodeAddressWord,
  phaseOf,
  type Round,
  roundIdOf,
  roundOf,
  SELECTORS,
  wordsOf,
} from './abi.ts'
import { ROUNDS_PER_QUESTION } from './describe.ts'
import { mapRound, type OracleFeed } from './mapper.ts'
import type { PhaseChanges } from './phase-changes.ts'
import type { NoneProof, Quorum } from './quorum.ts'
import type { UnsettledRounds } from './unsettled-rounds.ts'

/** Limits of a plausible time: before the first oracle, and further ahead of our clock than it can be wrong. */
const FIRST_ANSWER_S = Date.UTC(2017, 0, 1) / 1_000
const MAX_AHEAD_MS = 24 * 3_600_000

/** More rounds than any aggregator has had. A larger number is invalid and would make the walk endless. */
const MAX_ROUND = 1n << 32n
const NOTHING_READ: HistoryPage = { observations: [], covered: null, missing: [] }

interface Place {
  readonly phase: bigint
  readonly round: bigint
  /** Rounds before this time do not belong to the feed, or are not wanted. */
  readonly fromMs?: number
  /** There may be earlier rounds that cannot be read. */
  readonly isLate?: boolean
}

/** The border between two phases; rounds between the two times may belong to either. */
interface Border {
  /** Up to this time, rounds of the old phase belong to the feed. */
  readonly oldToMs: number
  /** From this time on, rounds of the new phase do; undefined if the time of the old phase's last round is unknown. */
  readonly newFromMs: number | undefined
}

/** The number of a phase's last round. */
interface PhaseEnd {
  /** 0 for a phase that never existed or has no rounds; undefined if the nodes disagree. */
  readonly agreed: bigint | undefined
  /** The last round that a quorum of nodes has, although others may have later ones. */
  readonly reached: bigint
}

interface Walk {
  readonly quorum: Quorum
  readonly feed: OracleFeed
  readonly fromMs: number
  readonly newest: Round
  readonly phases: PhaseChanges
  readonly signal: AbortSignal
  /** By phase; a border by its old phase. */
  readonly ends: Map<bigint, PhaseEnd>
  readonly borders: Map<bigint, Border>
}

export async function* walkRounds(
  quorum: Quorum,
  feed: OracleFeed,
  range: HistoryRange,
  {
    now,
    deadLetters,
    phases,
    unsettled,
  }: {
    now(): number
    readonly deadLetters: DeadLetters
    readonly phases: PhaseChanges
    readonly unsettled: UnsettledRounds
  },
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  const [answer] = await quorum.newest([{ proxy: feed.proxy, after: 0n }], signal)
  const newest = answer?.round
  if (newest === null || newest === undefined) {
    throw new VenueError(`chainlink: the nodes agree on no round of ${feed.symbol}`, { isFinal: false })
  }
  const inOrder = createRoundOrder()
  const expectInOrder = (round: Round, faultOf = inOrder) => {
    const fault = faultOf(round, now())
    if (fault === undefined) return
    const answer = { receivedMs: now(), text: `round ${round.roundId} of ${round.updatedAt}` }
    throw misfit(fault, `rounds of ${feed.symbol}`, answer, deadLetters)
  }
  expectInOrder(newest, createRoundOrder())
  phases.seen(feed.proxy, newest, now())
  // Another round may still follow the newest one, so nothing is known after it.
  const knownMs = Math.min(range.toMs, newest.updatedAt * 1_000)
  const known = { ends: new Map(), borders: new Map() }
  const walk: Walk = { quorum, feed, fromMs: range.fromMs, newest, phases, signal, ...known }
  let place: Place | undefined = await firstPlace(walk)
  let coveredMs = range.fromMs
  let lastMs = range.fromMs
  let isLost = place?.isLate === true
  while (place !== undefined && coveredMs < knownMs) {
    const { rounds, next } = await readPage(walk, place)
    let observations: HistoryPage['observations'][number][] = []
    for (const round of rounds) {
      if (round === null) continue
      if (round === undefined) {
        if (!isLost) yield { observations, covered: rangeOrNull(coveredMs, lastMs), missing: [] }
        if (!isLost) observations = []
        isLost = true
        continue
      }
      expectInOrder(round)
      const updatedMs = round.updatedAt * 1_000
      if (isLost) coveredMs = Math.max(coveredMs, Math.min(updatedMs, knownMs))
      isLost = false
      lastMs = Math.min(knownMs, Math.max(lastMs, updatedMs))
      if (!isInside(round, range)) continue
      unsettled.read(feed.proxy, round, now())
      observations.push(mapRound(round, feed, now()))
    }
    // Another round of the same second may follow, so that second itself is not settled yet.
    const isEnd = next === undefined || (!isLost && lastMs >= knownMs)
    const settledMs = isEnd ? knownMs : lastMs
    // A page of which nothing can be read is yielded too, so that the page check can end a walk that has only such
    // pages.
    yield isLost ? NOTHING_READ : { observations, covered: rangeOrNull(coveredMs, settledMs), missing: [] }
    if (!isLost) coveredMs = Math.max(coveredMs, settledMs)
    place = isEnd ? undefined : next
  }
}

/**
 * Times must be seconds since the epoch that never run backwards within a phase nor into the future; otherwise they are
 * in another unit.
 */
function createRoundOrder(): (round: Round, nowMs: number) => string | undefined {
  let before: Round | undefined
  return (round, nowMs) => {
    const last = before
    before = round
    if (round.updatedAt < FIRST_ANSWER_S || round.updatedAt * 1_000 > nowMs + MAX_AHEAD_MS)
      return `updated at ${round.updatedAt}`
    if (last === undefined || phaseOf(last.roundId) !== phaseOf(round.roundId)) return undefined
    return round.updatedAt < last.updatedAt
      ? `updated at ${round.updatedAt}, the one before later`
      : undefined
  }
}

function isInside(round: Round, range: HistoryRange): boolean {
  const updatedMs = round.updatedAt * 1_000
  return updatedMs >= range.fromMs && updatedMs < range.toMs
}

/** Reads one page of rounds from a place on, and finds where the next page begins; undefined after the newest round. */
async function readPage(
  walk: Walk,
  { phase, round, fromMs = 0 }: Place,
): Promise<{ rounds: (Round | null | undefined)[]; next: Place | undefined }> {
  const { quorum, feed, signal } = walk
  const { agreed: last } = await endOf(walk, phase)
  const border = phase === phaseOf(walk.newest.roundId) ? undefined : await borderAfter(walk, phase)
  const nextPhase = async (): Promise<Place | undefined> =>
    border && placeAt(walk, phase + 1n, Math.max(walk.fromMs, border.newFromMs ?? 0))
  if (last === undefined) return { rounds: [undefined], next: await nextPhase() }
  const count = Number(last - round + 1n)
  const ids = Array.from({ length: Math.max(0, Math.min(count, ROUNDS_PER_QUESTION)) }, (_, index) =>
    roundIdOf(phase, round + BigInt(index)),
  )
  const read = await quorum.rounds(feed.proxy, ids, signal, noneOf(walk))
  if (quorum.answering < quorum.needed) throw tooFew(quorum)
  const rounds = read.filter((each) => each == null || each.updatedAt * 1_000 >= fromMs)
  const over = rounds.findIndex(
    (each) => border !== undefined && each != null && each.updatedAt * 1_000 > border.oldToMs,
  )
  if (border !== undefined && over >= 0) {
    const isDisputed = border.oldToMs < (border.newFromMs ?? 0)
    return { rounds: [...rounds.slice(0, over), ...(isDisputed ? [undefined] : [])], next: await nextPhase() }
  }
  const after = round + BigInt(ids.length)
  return { rounds, next: after <= last ? { phase, round: after } : await nextPhase() }
}

/** The place of the first round at or after the start of the range; the very first round if all are later. */
async function firstPlace(walk: Walk): Promise<Place | undefined> {
  const { fromMs, newest } = walk
  if (newest.updatedAt * 1_000 < fromMs) return undefined
  for (let phase = phaseOf(newest.roundId); ; phase -= 1n) {
    const { agreed: before } = await endOf(walk, phase - 1n)
    if (before === 0n) return placeAt(walk, phase, fromMs)
    const { newFromMs } = await borderAfter(walk, phase - 1n)
    if (newFromMs !== undefined && newFromMs < fromMs) return placeAt(walk, phase, fromMs)
    if (before === undefined)
      return { ...(await placeAt(walk, phase, Math.max(fromMs, newFromMs ?? 0))), isLate: true }
    // The last round of the phase before is in the range, or its time is in dispute, so that phase decides.
  }
}

/** The first round of a phase at or after a time; its last round if all are earlier. */
async function placeAt(walk: Walk, phase: bigint, fromMs: number): Promise<Place> {
  const { reached: last } = await endOf(walk, phase)
  const first = await timeOf(walk, phase, 1n, last)
  const isWithin = first === null || first < fromMs
  return { phase, round: isWithin ? await halve(walk, phase, last, fromMs) : 1n, fromMs }
}

async function borderAfter(walk: Walk, phase: bigint): Promise<Border> {
  const border = walk.borders.get(phase) ?? (await findBorder(walk, phase))
  walk.borders.set(phase, border)
  return border
}

/** Consecutive phases have one border; overlapping ones do only if the proxy was seen to move. */
async function findBorder(walk: Walk, phase: bigint): Promise<Border> {
  const { quorum, feed, phases, signal } = walk
  const oldLastMs = await lastTimeOf(walk, phase, (await endOf(walk, phase)).reached)
  const newFirstMs = await timeOf(walk, phase + 1n, 1n, (await endOf(walk, phase + 1n)).reached)
  if (oldLastMs === undefined || newFirstMs === null || newFirstMs >= oldLastMs)
    return { oldToMs: Number.POSITIVE_INFINITY, newFromMs: oldLastMs }
  const change = phases.to(feed.proxy, phase + 1n)
  if (change === undefined) return { oldToMs: newFirstMs - 1, newFromMs: oldLastMs }
  const newFromMs = Math.min(oldLastMs, change.movedByMs)
  const { lastBefore } = change
  if (lastBefore === undefined) return { oldToMs: newFirstMs - 1, newFromMs }
  const asked = [lastBefore.roundId, lastBefore.roundId + 1n]
  // Its block may have been replaced since, which changes the time of the round.
  const [last, following] = await quorum.rounds(feed.proxy, asked, signal, noneOf(walk))
  const lastMs = (last ?? lastBefore).updatedAt * 1_000
  const oldToMs = Math.max(newFirstMs - 1, Math.min(lastMs, change.movedByMs))
  // Otherwise the old contract's next round came at about the time the proxy moved, before or after it.
  const isLast = following === null || (following?.updatedAt ?? 0) * 1_000 > change.movedByMs
  return { oldToMs, newFromMs: isLast ? Math.min(oldToMs, newFromMs) : newFromMs }
}

async function halve(walk: Walk, phase: bigint, last: bigint, fromMs: number): Promise<bigint> {
  let low = 1n
  let high = last
  while (low < high) {
    const middle = (low + high) / 2n
    const timeMs = await timeOf(walk, phase, middle, high)
    if (timeMs !== null && timeMs < fromMs) low = middle + 1n
    else high = middle
  }
  return low
}

/** The time of the first round from `round` on that exists; the first few of a phase may not. */
async function timeOf(walk: Walk, phase: bigint, round: bigint, last: bigint): Promise<number | null> {
  const { quorum, feed, signal } = walk
  const count = Number(last - round + 1n)
  const ids = Array.from({ length: Math.min(count, 8) }, (_, index) =>
    roundIdOf(phase, round + BigInt(index)),
  )
  const found = (await quorum.rounds(feed.proxy, ids, signal, noneOf(walk))).find((each) => each != null)
  return found == null ? null : found.updatedAt * 1_000
}

/** The time of the last round of a phase on which the nodes agree. */
async function lastTimeOf(walk: Walk, phase: bigint, last: bigint): Promise<number | undefined> {
  const { quorum, feed, signal } = walk
  const count = Number(last < 8n ? last : 8n)
  const ids = Array.from({ length: count }, (_, index) => roundIdOf(phase, last - BigInt(index)))
  const found = (await quorum.rounds(feed.proxy, ids, signal, noneOf(walk))).find((each) => each != null)
  return found && found.updatedAt * 1_000
}

async function endOf(walk: Walk, phase: bigint): Promise<PhaseEnd> {
  const end = walk.ends.get(phase) ?? (await findEnd(walk, phase))
  walk.ends.set(phase, end)
  return end
}

async function findEnd({ quorum, feed, newest, signal }: Walk, phase: bigint): Promise<PhaseEnd> {
  if (phase === phaseOf(newest.roundId))
    return { agreed: roundOf(newest.roundId), reached: roundOf(newest.roundId) }
  if (phase < 1n) return { agreed: 0n, reached: 0n }
  const fromBlockMs = newest.updatedAt * 1_000
  const asked = { target: feed.proxy, data: callPhaseAggregator(phase) }
  const answer = await quorum.call(asked, signal, fromBlockMs)
  if (answer === undefined && quorum.answering < quorum.needed) throw tooFew(quorum)
  if (answer === undefined) return { agreed: undefined, reached: 0n }
  const aggregator = answer === null ? undefined : decodeAddressWord(answer)
  if (aggregator === undefined) return { agreed: 0n, reached: 0n }
  const call = { target: aggregator, data: SELECTORS.latestRound }
  const answers = await quorum.each(call, signal, fromBlockMs)
  if (quorum.answering < quorum.needed) throw tooFew(quorum)
  const numbers = answers
    .map((each) => (each === null ? undefined : wordsOf(each)?.[0]))
    .filter((each): each is bigint => each !== undefined && each <= MAX_ROUND)
    .sort((a, b) => (a < b ? 1 : -1))
  const agreed = numbers.find((each) => numbers.filter((other) => other === each).length >= quorum.needed)
  return { agreed, reached: numbers[quorum.needed - 1] ?? 0n }
}

/** A node that is behind the newest round may lack earlier ones too. */
const noneOf = ({ newest }: Walk): NoneProof => ({ fromBlockMs: newest.updatedAt * 1_000 })

const tooFew = ({ needed }: Quorum) =>
  new VenueError(`chainlink: fewer than ${needed} nodes answer`, { isFinal: false })
