/**
 * Listens by polling: requests the newest round of every feed, every few seconds, from several nodes.
 *
 *   ask all nodes ──▶ agreed and newer? ──▶ fill the rounds between ──▶ emit, oldest first ──▶ observed up to their blocks
 *        └── fewer nodes than the quorum answer, or they are behind: disconnected, until enough answer again
 *
 * Nodes that are behind, or a chain that stands still, agree on the last round that they know. That no later round
 * exists is therefore known only up to the time of their blocks, not up to now.
 *
 * An answer that goes back in rounds or in time is never emitted, however many nodes agree on it.
 *
 * A chain may replace its newest blocks: the round of a replaced block appears again in a later block, with the same
 * number, another time, and perhaps another price. Rounds are therefore read again until their blocks are too deep to
 * be replaced, and one that has changed is emitted once more. If the new blocks have no such round, or the nodes do not
 * agree on it for long, it is reported as gone.
 */
import { mayFollow } from '../../core/oracle-candles.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Channel } from '../channel.ts'
import { isPlausibleAnswer } from '../live/plausible.ts'
import type { SessionIo, VenueTasks } from '../live/venue-tasks.ts'
import type { OracleRoundObservation } from '../observation.ts'
import { phaseOf, type Round, roundIdOf, roundOf } from './abi.ts'
import { CHAINLINK_TIMES, ROUNDS_FILLED, ROUNDS_PER_QUESTION } from './describe.ts'
import { mapGone, mapRound, type OracleFeed } from './mapper.ts'
import type { PhaseChanges } from './phase-changes.ts'
import type { NoneProof, Quorum } from './quorum.ts'
import type { UnsettledRounds } from './unsettled-rounds.ts'

const ROUTE = 'rpc'

const isSameAnswer = (a: OracleRoundObservation, b: OracleRoundObservation) =>
  a.updatedMs === b.updatedMs && a.price === b.price

export function listenToRounds(options: {
  channels: readonly Channel[]
  quorum: Quorum
  feedOf: (symbol: AssetSymbol, signal: AbortSignal) => Promise<OracleFeed>
  phases: PhaseChanges
  clock: Clock
  pollEveryMs?: number
  unsettled: UnsettledRounds
}): VenueTasks {
  const { channels, quorum, unsettled, clock } = options
  const last = new Map<AssetSymbol, OracleRoundObservation>()
  /**
   * Every round before this time is known. Never goes back, although the next answer may come from nodes that are
   * behind.
   */
  const knownTo = new Map<AssetSymbol, number>()
  const readAgainMs = new Map<AssetSymbol, number>()
  /** Nothing before this time can be replaced any more. */
  const settledTo = new Map<AssetSymbol, number>()
  let isUp = true
  let answeredMs = clock.now()

  async function poll(io: SessionIo): Promise<void> {
    const feeds = await Promise.all(channels.map(({ symbol }) => options.feedOf(symbol, io.signal)))
    const asked = feeds.map(({ proxy, symbol }) => ({ proxy, after: last.get(symbol)?.roundId ?? 0n }))
    const askedMs = clock.now()
    const newest = await quorum.newest(asked, io.signal)
    // Numbers show what is missing before a round, so everything up to its own time is known too.
    const reached = newest.map(({ round, knownToMs = 0 }) =>
      Math.min(askedMs, Math.max(knownToMs, (round?.updatedAt ?? 0) * 1_000)),
    )
    tellConnections(io, askedMs, Math.max(...knownTo.values(), ...reached))
    for (const [index, feed] of feeds.entries()) {
      const round = newest[index]?.round
      if (round != null) options.phases.seen(feed.proxy, round, clock.now(), newest[index]?.knownToMs)
      if (round != null) await advance(io, feed, round)
      await readAgain(io, feed, reached[index] ?? 0)
      tellKnown(io, feed.symbol, reached[index] ?? 0)
    }
  }

  /** Nodes that answer may still be behind. */
  function tellConnections(io: SessionIo, askedMs: number, knownToMs: number): void {
    const isAnswered = quorum.answering >= quorum.needed
    if (isAnswered && knownToMs > 0 && askedMs - knownToMs > CHAINLINK_TIMES.behindMs)
      tellConnection(io, false, 'the newest blocks of the nodes are old', knownToMs)
    else tellConnection(io, isAnswered)
  }

  /** Reports that everything before `reachedMs` was emitted. */
  function tellKnown(io: SessionIo, symbol: AssetSymbol, reachedMs: number): void {
    const toMs = Math.max(knownTo.get(symbol) ?? 0, reachedMs)
    knownTo.set(symbol, toMs)
    const channel = channels.find((each) => each.symbol === symbol)
    if (channel !== undefined && toMs > 0)
      io.report({
        ...{ kind: 'observed_to', source: 'oracle', receivedMs: clock.now(), channel, toMs },
        settledMs: settledTo.get(symbol) ?? 0,
      })
  }

  async function advance(io: SessionIo, feed: OracleFeed, newest: Round): Promise<void> {
    const between = await missingRounds(feed, newest, io.signal)
    for (const round of [...between, newest]) {
      const observation = mapRound(round, feed, clock.now())
      const before = last.get(feed.symbol)
      if (before !== undefined && !mayFollow(before, observation)) continue
      // A round from the future is refused when it is emitted, and must not hide the rounds that follow.
      if (isPlausibleAnswer(observation)) last.set(feed.symbol, observation)
      if (isPlausibleAnswer(observation)) unsettled.emitted(observation)
      io.emit(`oracle_rounds:${feed.symbol}`, observation)
    }
  }

  /** @param reachedMs time of the blocks that the nodes had just before */
  async function readAgain(io: SessionIo, feed: OracleFeed, reachedMs: number): Promise<void> {
    const { symbol, proxy } = feed
    if (clock.now() < (readAgainMs.get(symbol) ?? 0)) return
    const known = unsettled.list(proxy)
    const ids = known.map(([roundId]) => roundId)
    // On a chain of many blocks a second, the next second is certainly a later block.
    const fromBlockMs = Math.max(0, ...known.map(([, { updatedMs }]) => updatedMs)) + 1_000
    const rounds = await readRounds(feed, ids, io.signal, { fromBlockMs, isNewest: true })
    let isDisputed = false
    for (const [index, [roundId, { emitted, updatedMs }]] of known.entries()) {
      const round = rounds[index]
      const receivedMs = clock.now()
      if (round == null) {
        const state = round === null ? 'gone' : unsettled.readInVain(proxy, roundId, reachedMs)
        if (state === 'disputed') isDisputed = true
        if (state === 'young' || state === 'disputed') continue
        unsettled.gone(proxy, roundId)
        if (round === null) options.phases.replaced(proxy, roundId, updatedMs, receivedMs)
        // Its number may be given again; what was missed until then shows in the numbers.
        if (round === null && roundId === last.get(symbol)?.roundId) last.delete(symbol)
        const gone = mapGone({ roundId, updatedMs }, feed, { receivedMs, isDisputed: round !== null })
        io.emit(`oracle_rounds:${symbol}`, gone)
        continue
      }
      const observation = mapRound(round, feed, receivedMs)
      if (emitted !== undefined && isSameAnswer(emitted, observation)) continue
      if (emitted !== undefined) options.phases.replaced(proxy, roundId, updatedMs, receivedMs)
      unsettled.emitted(observation)
      if (roundId === last.get(symbol)?.roundId) last.set(symbol, observation)
      io.emit(`oracle_rounds:${symbol}`, observation)
    }
    readAgainMs.set(symbol, clock.now() + CHAINLINK_TIMES.readAgainEveryMs)
    // An emitted round that is in dispute may still be replaced.
    if (!isDisputed)
      settledTo.set(symbol, Math.max(settledTo.get(symbol) ?? 0, unsettled.settle(proxy, reachedMs)))
  }

  async function readRounds(
    { proxy }: OracleFeed,
    ids: readonly bigint[],
    signal: AbortSignal,
    proof: NoneProof,
  ): Promise<(Round | null | undefined)[]> {
    const rounds: (Round | null | undefined)[] = []
    for (let from = 0; from < ids.length; from += ROUNDS_PER_QUESTION)
      rounds.push(...(await quorum.rounds(proxy, ids.slice(from, from + ROUNDS_PER_QUESTION), signal, proof)))
    return rounds
  }

  /**
   * Rounds between the last one emitted and the newest. Longer gaps, and the end of a phase that is over, are left to
   * the history.
   */
  async function missingRounds(feed: OracleFeed, newest: Round, signal: AbortSignal): Promise<Round[]> {
    const before = last.get(feed.symbol)
    if (before === undefined) return []
    const phase = phaseOf(newest.roundId)
    const first = phaseOf(before.roundId) === phase ? before.roundId + 1n : roundIdOf(phase, 1n)
    const count = Number(newest.roundId - first)
    if (count <= 0 || count > ROUNDS_FILLED) return []
    const ids = Array.from({ length: count }, (_, index) => first + BigInt(index))
    const rounds = await readRounds(feed, ids, signal, { fromBlockMs: newest.updatedAt * 1_000 })
    const found = rounds.filter((round) => round !== null && round !== undefined)
    return found.sort((a, b) => Number(roundOf(a.roundId) - roundOf(b.roundId)))
  }

  function tellConnection(
    io: SessionIo,
    answered: boolean,
    reason = `fewer than ${quorum.needed} nodes answer`,
    sinceMs = answeredMs,
  ): void {
    const nowMs = clock.now()
    const about = { source: 'oracle' as const, receivedMs: nowMs, route: ROUTE, channels }
    if (answered && !isUp) {
      // Before anything is known again, the rounds of the time before are read again.
      readAgainMs.clear()
      io.report({ kind: 'connected', ...about })
    }
    if (!answered && isUp) {
      io.report({ kind: 'disconnected', ...about, reason, sinceMs: Math.min(sinceMs, answeredMs) })
    }
    isUp = answered
    if (answered) answeredMs = nowMs
  }

  return {
    channels,
    polled: ['oracle_rounds'],
    async run(io) {
      const forget = clock.onStandstill?.(() => tellConnection(io, false, 'stood still'))
      while (!io.signal.aborted) {
        const startedMs = clock.now()
        try {
          if (!io.isPaused()) await poll(io)
        } catch {
          if (!io.signal.aborted) tellConnection(io, false)
        }
        const restMs = (options.pollEveryMs ?? CHAINLINK_TIMES.pollEveryMs) - (clock.now() - startedMs)
        await clock.sleep(Math.max(1, restMs), io.signal).catch(() => {})
      }
      forget?.()
    },
  }
}
