/** Rounds that are read again: replaced, gone with their block, or in dispute; and what is settled meanwhile. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import type { SessionIo } from '../live/venue-tasks.ts'
import type { OracleRoundGoneObservation } from '../observation.ts'
import { type Round, roundIdOf } from './abi.ts'
import { listenToRounds } from './feed.ts'
import type { OracleFeed } from './mapper.ts'
import { createPhaseChanges } from './phase-changes.ts'
import type { Quorum } from './quorum.ts'
import { createUnsettledRounds } from './unsettled-rounds.ts'

const NOW_MS = Date.UTC(2026, 6, 24)
const SETTLES_AFTER_MS = 300_000

/** The settled time after a round of this age was emitted and could not be read again. */
async function settledMs(ageMs: number): Promise<number> {
  const round: Round = {
    roundId: roundIdOf(7n, 1n),
    answer: 60_000n * 100_000_000n,
    updatedAt: (NOW_MS - ageMs) / 1_000,
  }
  const feed: OracleFeed = { symbol: 'BTC', proxy: '0xc9', decimals: 8 } as OracleFeed
  const quorum = {
    ...{ answering: 2, needed: 2 },
    newest: async () => [{ round, knownToMs: NOW_MS }],
    rounds: async () => [undefined],
  } as unknown as Quorum
  const stop = new AbortController()
  let settled = -1
  const io = {
    signal: stop.signal,
    isPaused: () => false,
    emit() {},
    report(event: { settledMs?: number }) {
      settled = event.settledMs ?? settled
      stop.abort()
    },
  } as unknown as SessionIo
  const tasks = listenToRounds({
    ...{ channels: [{ topic: 'oracle_rounds', symbol: 'BTC' }], quorum, clock: manualClock(NOW_MS) },
    ...{ feedOf: async () => feed, phases: createPhaseChanges() },
    unsettled: createUnsettledRounds(SETTLES_AFTER_MS),
  })
  await tasks.run(io)
  return settled
}

test('a round on which the nodes disagree holds nothing up while it is young', async () => {
  assert.equal(await settledMs(60_000), NOW_MS - SETTLES_AFTER_MS)
  assert.equal(await settledMs(SETTLES_AFTER_MS + 60_000), 0)
})

test('a round that was replaced while the nodes gave no answer is emitted again, however long that took', async () => {
  const clock = manualClock(NOW_MS)
  const roundAt = (timeMs: number): Round => ({
    roundId: roundIdOf(7n, 1n),
    answer: 60_000n * 100_000_000n,
    updatedAt: timeMs / 1_000,
  })
  let onChain = roundAt(NOW_MS - 60_000)
  const feed: OracleFeed = { symbol: 'BTC', proxy: '0xc9', decimals: 8 } as OracleFeed
  let answering = 2
  const quorum = {
    needed: 2,
    get answering() {
      return answering
    },
    newest: async ([{ after }]: [{ after: bigint }]) => [
      { round: onChain.roundId > after ? onChain : null, knownToMs: clock.now() },
    ],
    rounds: async () => [onChain],
  } as unknown as Quorum
  const stop = new AbortController()
  const told: (number | undefined)[] = []
  const io = {
    signal: stop.signal,
    isPaused: () => false,
    emit: (_key: string, { updatedMs }: { updatedMs: number }) => void told.push(updatedMs),
    report: ({ settledMs }: { settledMs?: number }) => void told.push(settledMs),
  } as unknown as SessionIo
  const running = listenToRounds({
    ...{ channels: [{ topic: 'oracle_rounds', symbol: 'BTC' }], quorum, clock },
    ...{ feedOf: async () => feed, phases: createPhaseChanges() },
    unsettled: createUnsettledRounds(SETTLES_AFTER_MS),
  }).run(io)
  const polled = async () => {
    while (clock.sleepers === 0) await new Promise(setImmediate)
  }
  await polled()
  assert.deepEqual(told.splice(0), [NOW_MS - 60_000, NOW_MS - SETTLES_AFTER_MS])
  onChain = roundAt(NOW_MS - 52_000)
  clock.advance(20 * 60_000)
  await polled()
  assert.deepEqual(told.splice(0), [NOW_MS - 52_000, clock.now() - SETTLES_AFTER_MS])
  // After a short outage it is read again with the first answer, not when it would be due.
  const sinceMs = clock.now()
  onChain = { ...roundAt(sinceMs), roundId: roundIdOf(7n, 2n) }
  clock.advance(10_000)
  await polled()
  answering = 1
  clock.advance(10_000)
  await polled()
  answering = 2
  onChain = { ...onChain, updatedAt: (sinceMs + 4_000) / 1_000 }
  told.length = 0
  clock.advance(10_000)
  await polled()
  assert.ok(told.includes(sinceMs + 4_000))
  stop.abort()
  await running
})

/** Polls while the chain changes; tells what was emitted and reported since the last call. */
function listen(t: TestContext, chain: { rounds: readonly Round[]; read?: readonly undefined[] }) {
  const clock = manualClock(NOW_MS)
  const feed: OracleFeed = { symbol: 'BTC', proxy: '0xc9', decimals: 8 } as OracleFeed
  const quorum = {
    ...{ answering: 2, needed: 2 },
    newest: async ([{ after }]: [{ after: bigint }]) => {
      const round = chain.rounds.at(-1)
      return [{ round: round !== undefined && round.roundId > after ? round : null, knownToMs: clock.now() }]
    },
    rounds: async (_proxy: string, ids: readonly bigint[]) =>
      ids.map((id) =>
        chain.read ? undefined : (chain.rounds.find(({ roundId }) => roundId === id) ?? null),
      ),
  } as unknown as Quorum
  const stop = new AbortController()
  const emitted: [string, bigint, boolean?][] = []
  let settledMs = 0
  const io = {
    signal: stop.signal,
    isPaused: () => false,
    emit: (_key: string, { kind, roundId, isDisputed }: OracleRoundGoneObservation) =>
      void emitted.push(kind === 'oracle_round_gone' ? ['gone', roundId, isDisputed] : [kind, roundId]),
    report: (event: { settledMs?: number }) => {
      settledMs = event.settledMs ?? settledMs
    },
  } as unknown as SessionIo
  const running = listenToRounds({
    ...{ channels: [{ topic: 'oracle_rounds', symbol: 'BTC' }], quorum, clock },
    ...{ feedOf: async () => feed, phases: createPhaseChanges() },
    unsettled: createUnsettledRounds(SETTLES_AFTER_MS),
  }).run(io)
  t.after(async () => {
    stop.abort()
    await running
  })
  return {
    clock,
    settledMs: () => settledMs,
    async after(ms: number) {
      for (let leftMs = ms; leftMs > 0; leftMs -= 10_000) {
        clock.advance(Math.min(10_000, leftMs))
        while (clock.sleepers === 0) await new Promise(setImmediate)
      }
      while (clock.sleepers === 0) await new Promise(setImmediate)
      return emitted.splice(0)
    },
  }
}

const numbered = (number: bigint, timeMs: number, phase = 7n): Round => ({
  roundId: roundIdOf(phase, number),
  answer: 60_000n * 100_000_000n,
  updatedAt: timeMs / 1_000,
})

test('a round whose block was replaced by blocks without it is gone; given again, its number is emitted again', async (t) => {
  const chain = { rounds: [numbered(1n, NOW_MS - 60_000)] }
  const { after, clock } = listen(t, chain)
  assert.deepEqual(await after(0), [['oracle_round', roundIdOf(7n, 1n)]])
  chain.rounds = [...chain.rounds, numbered(2n, NOW_MS + 4_000)]
  assert.deepEqual(await after(20_000), [['oracle_round', roundIdOf(7n, 2n)]])
  chain.rounds = chain.rounds.slice(0, 1)
  assert.deepEqual((await after(60_000))[0], ['gone', roundIdOf(7n, 2n), false])
  await after(20 * 60_000)
  // Longer after it than blocks are read again.
  chain.rounds = [...chain.rounds, numbered(2n, clock.now())]
  assert.deepEqual(await after(20_000), [['oracle_round', roundIdOf(7n, 2n)]])
})

test('a phase that is gone with its block is followed by the rounds of the phase before', async (t) => {
  const before = [numbered(1n, NOW_MS - 60_000)]
  const chain = { rounds: [...before, numbered(1n, NOW_MS - 30_000, 8n)] }
  const { after, clock } = listen(t, chain)
  await after(0)
  chain.rounds = [...before, numbered(2n, clock.now() + 30_000)]
  const emitted = await after(120_000)
  assert.deepEqual(emitted.slice(0, 2), [
    ['gone', roundIdOf(8n, 1n), false],
    ['oracle_round', roundIdOf(7n, 2n)],
  ])
})

test('a round on which the nodes disagree at its settling age holds up what is settled, then it is gone', async (t) => {
  const chain: { rounds: Round[]; read?: undefined[] } = { rounds: [numbered(1n, NOW_MS - 60_000)] }
  const { after, settledMs, clock } = listen(t, chain)
  await after(0)
  chain.read = []
  assert.deepEqual(await after(SETTLES_AFTER_MS + 120_000), [])
  assert.ok(settledMs() < NOW_MS)
  assert.deepEqual(await after(240_000), [['gone', roundIdOf(7n, 1n), true]])
  await after(60_000)
  assert.ok(settledMs() > clock.now() - SETTLES_AFTER_MS - 120_000)
})
