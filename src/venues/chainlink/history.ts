/**
 * Rounds of the past, ascending. A round that exists and on which the nodes do not agree leaves a gap in what is
 * covered: from the round before it to the one after; so does a phase on whose end they do not agree, up to the first
 * round of the next. Within a phase the rounds' times only grow, so the first round of a range is found by halving;
 * from there they are read in order, over the borders of phases.
 */

import type { DeadLetters } from '../dead-letter.ts'
import { misfit } from '../rest/expect-fit.ts'
import { rangeOrNull } from '../rest/history-range.ts'
import { VenueError } from '../rest/rest-client.ts'
import type { HistoryPage, HistoryRange } from '../venue.ts'
import {
  type Call,
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
import type { Quorum } from './quorum.ts'

/** Before the first oracle, and after our clock by more than it can be wrong. */
const FIRST_ANSWER_S = Date.UTC(2017, 0, 1) / 1_000
const MAX_AHEAD_MS = 24 * 3_600_000

/** More than any aggregator has had: a larger number is none, and would be walked through for ever. */
const MAX_ROUND = 1n << 32n
const NOTHING_READ: HistoryPage = { observations: [], covered: null, missing: [] }

interface Place {
  readonly phase: bigint
  readonly round: bigint
  /** There may be rounds before it that cannot be read. */
  readonly isLate?: boolean
}

export async function* walkRounds(
  quorum: Quorum,
  feed: OracleFeed,
  range: HistoryRange,
  { now, deadLetters }: { now(): number; readonly deadLetters: DeadLetters },
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
  // What is newer than the newest round may still come.
  const knownMs = Math.min(range.toMs, newest.updatedAt * 1_000)
  let place: Place | undefined = await firstPlace(quorum, feed, range.fromMs, newest, signal)
  let coveredMs = range.fromMs
  let lastMs = range.fromMs
  let isLost = place?.isLate === true
  while (place !== undefined && coveredMs < knownMs) {
    const { rounds, next } = await readPage(quorum, feed, place, newest, signal)
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
      if (isInside(round, range)) observations.push(mapRound(round, feed, now()))
    }
    // Another round of the same second may follow, so that second itself is not settled yet.
    const isEnd = next === undefined || (!isLost && lastMs >= knownMs)
    const settledMs = isEnd ? knownMs : lastMs
    // A page of which nothing can be read is yielded too: they are counted, and a walk over nothing else ends.
    yield isLost ? NOTHING_READ : { observations, covered: rangeOrNull(coveredMs, settledMs), missing: [] }
    if (!isLost) coveredMs = Math.max(coveredMs, settledMs)
    place = isEnd ? undefined : next
  }
}

/** Seconds since the epoch that never run backwards within a phase, and not into the future: else another unit. */
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

/** So many rounds from a place on, and where the next page begins; undefined behind the newest round. */
async function readPage(
  quorum: Quorum,
  feed: OracleFeed,
  { phase, round }: Place,
  newest: Round,
  signal: AbortSignal,
): Promise<{ rounds: (Round | null | undefined)[]; next: Place | undefined }> {
  const isNewestPhase = phase === phaseOf(newest.roundId)
  const last = isNewestPhase ? roundOf(newest.roundId) : await lastRound(quorum, feed, phase, signal)
  if (last === undefined) return { rounds: [undefined], next: { phase: phase + 1n, round: 1n } }
  const count = Number(last - round + 1n)
  const ids = Array.from({ length: Math.max(0, Math.min(count, ROUNDS_PER_QUESTION)) }, (_, index) =>
    roundIdOf(phase, round + BigInt(index)),
  )
  const rounds = await quorum.rounds(feed.proxy, ids, signal)
  if (quorum.answering < quorum.needed) throw tooFew(quorum)
  const after = round + BigInt(ids.length)
  if (after <= last) return { rounds, next: { phase, round: after } }
  return { rounds, next: isNewestPhase ? undefined : { phase: phase + 1n, round: 1n } }
}

/** The place of the first round at or after an instant; the beginning of all where everything is later. */
async function firstPlace(
  quorum: Quorum,
  feed: OracleFeed,
  fromMs: number,
  newest: Round,
  signal: AbortSignal,
): Promise<Place | undefined> {
  if (newest.updatedAt * 1_000 < fromMs) return undefined
  let phase = phaseOf(newest.roundId)
  let last = roundOf(newest.roundId)
  for (;;) {
    const first = await timeOf(quorum, feed, phase, 1n, last, signal)
    const isWithin = first !== null && first < fromMs
    const before = isWithin ? 0n : await lastRound(quorum, feed, phase - 1n, signal)
    if (before === undefined) return { phase, round: 1n, isLate: true }
    if (before === 0n) return { phase, round: await halve(quorum, feed, phase, last, fromMs, signal) }
    const lastBefore = await timeOf(quorum, feed, phase - 1n, before, before, signal)
    // A last round that is in dispute may be inside: then the rounds before it decide.
    if (lastBefore !== null && lastBefore < fromMs) return { phase, round: 1n }
    phase -= 1n
    last = before
  }
}

async function halve(
  quorum: Quorum,
  feed: OracleFeed,
  phase: bigint,
  last: bigint,
  fromMs: number,
  signal: AbortSignal,
): Promise<bigint> {
  let low = 1n
  let high = last
  while (low < high) {
    const middle = (low + high) / 2n
    const timeMs = await timeOf(quorum, feed, phase, middle, high, signal)
    if (timeMs !== null && timeMs < fromMs) low = middle + 1n
    else high = middle
  }
  return low
}

/** The time of the first round from `round` on that exists; a few at the start of a phase may not. */
async function timeOf(
  quorum: Quorum,
  feed: OracleFeed,
  phase: bigint,
  round: bigint,
  last: bigint,
  signal: AbortSignal,
): Promise<number | null> {
  const count = Number(last - round + 1n)
  const ids = Array.from({ length: Math.min(count, 8) }, (_, index) =>
    roundIdOf(phase, round + BigInt(index)),
  )
  const found = (await quorum.rounds(feed.proxy, ids, signal)).find((each) => each != null)
  return found == null ? null : found.updatedAt * 1_000
}

/** 0 for a phase that never was, or that had no round; undefined where the nodes disagree. */
async function lastRound(
  quorum: Quorum,
  feed: OracleFeed,
  phase: bigint,
  signal: AbortSignal,
): Promise<bigint | undefined> {
  if (phase < 1n) return 0n
  const answer = await agreed(quorum, { target: feed.proxy, data: callPhaseAggregator(phase) }, signal)
  if (answer === undefined) return undefined
  const aggregator = answer === null ? undefined : decodeAddressWord(answer)
  if (aggregator === undefined) return 0n
  const latest = await agreed(quorum, { target: aggregator, data: SELECTORS.latestRound }, signal)
  const last = latest === null || latest === undefined ? undefined : wordsOf(latest)?.[0]
  return last !== undefined && last <= MAX_ROUND ? last : undefined
}

async function agreed(quorum: Quorum, call: Call, signal: AbortSignal): Promise<string | null | undefined> {
  const answer = await quorum.call(call, signal)
  if (answer === undefined && quorum.answering < quorum.needed) throw tooFew(quorum)
  return answer
}

const tooFew = ({ needed }: Quorum) =>
  new VenueError(`chainlink: fewer than ${needed} nodes answer`, { isFinal: false })
