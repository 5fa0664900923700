/** The time before which nothing can be replaced any more, while a round has vanished with its block. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import type { SessionIo } from '../live/venue-tasks.ts'
import { type Round, roundIdOf } from './abi.ts'
import { listenToRounds } from './feed.ts'
import type { OracleFeed } from './mapper.ts'
import type { PhaseChanges } from './phase-changes.ts'
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
    rounds: async () => [null],
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
    ...{ feedOf: async () => feed, phases: { seen() {} } as unknown as PhaseChanges },
    unsettled: createUnsettledRounds(SETTLES_AFTER_MS),
  })
  await tasks.run(io)
  return settled
}

test('a round that is gone with its block holds nothing up while it is young', async () => {
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
    ...{ feedOf: async () => feed, phases: { seen() {} } as unknown as PhaseChanges },
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
