/** Nodes that answer something else, or numbers without end: nothing of it becomes a round, and no walk is endless. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leapingClock } from '../../../test/fakes/leaping-clock.ts'
import { answeringFetch } from '../../../test/venues/answering-fetch.ts'
import type { HistoryRange } from '../venue.ts'
import { decodeMulticall, decodeRound, roundIdOf, SELECTORS, word, wordsOf } from './abi.ts'
import { createChainlink } from './venue.ts'

const HOUR = 3_600_000
const NOW = Date.parse('2026-03-14T12:00:20Z')
const PROXY = '0xc907E116054Ad103354f2D350FD2514433D57F6f'
const { signal } = new AbortController()

const roundHex = (roundId: bigint, timeMs: number, answer = 100_000_000n) => {
  const seconds = BigInt(Math.floor(timeMs / 1_000))
  return `0x${[roundId, answer, seconds, seconds, roundId].map(word).join('')}`
}

/** Phase 1 and phase 2 have forty rounds each, one every hour. */
const timeOf = (roundId: bigint) =>
  NOW - (80 - Number((roundId >> 64n) - 1n) * 40 - Number(BigInt.asUintN(64, roundId))) * HOUR - 1_000
const TIMES = [1n, 2n].flatMap((phase) =>
  Array.from(
    { length: 40 },
    (_, index) => Math.floor(timeOf(roundIdOf(phase, BigInt(index + 1))) / 1_000) * 1_000,
  ),
)

interface Spoiling {
  reply?: (id: number, result: unknown) => unknown
  call?: (selector: string, argument: bigint) => string | undefined
  block?: unknown
}

function nodeWith(spoiling: Spoiling = {}) {
  const call = (data: string): string => {
    const selector = data.slice(0, 10)
    const argument = data.length > 10 ? BigInt(`0x${data.slice(10, 74)}`) : 0n
    const spoilt = spoiling.call?.(selector, argument)
    if (spoilt !== undefined) return spoilt
    switch (selector) {
      case SELECTORS.latestRoundData:
        return roundHex(roundIdOf(2n, 40n), timeOf(roundIdOf(2n, 40n)))
      case SELECTORS.getRoundData: {
        const number = BigInt.asUintN(64, argument)
        return number >= 1n && number <= 40n ? roundHex(argument, timeOf(argument)) : '0x'
      }
      case SELECTORS.phaseAggregators:
        return argument >= 1n && argument <= 2n ? `0x${word(0xa00n + argument)}` : `0x${word(0n)}`
      case SELECTORS.latestRound:
        return `0x${word(40n)}`
      case SELECTORS.decimals:
        return `0x${word(8n)}`
      case SELECTORS.aggregator:
        return `0x${word(0xa02n)}`
      default:
        return '0x'
    }
  }
  let questions = 0
  const fetch = answeringFetch((asked) => {
    questions += 1
    const { id, method, params } = JSON.parse(asked.body)
    const block = spoiling.block ?? { number: '0x2710', timestamp: `0x${(NOW / 1_000).toString(16)}` }
    const result =
      method === 'eth_call'
        ? call(String(params[0].data))
        : method === 'eth_getLogs'
          ? []
          : method === 'eth_getBlockByNumber'
            ? block
            : null
    return spoiling.reply?.(id, result) ?? { jsonrpc: '2.0', id, result }
  })
  const venue = createChainlink({
    clock: leapingClock(NOW),
    fetch,
    chainlink: { providers: ['http://node'], proxies: { BTC: PROXY } },
    limits: { rest: { tries: 1 } },
  })
  const range: HistoryRange = { fromMs: NOW - 60 * HOUR, toMs: NOW }
  async function walk() {
    const covered: HistoryRange[] = []
    const prices = new Set<string>()
    const times = new Set<number>()
    for await (const page of venue.history({ topic: 'oracle_rounds', symbol: 'BTC', range }, { signal })) {
      if (page.covered !== null) covered.push(page.covered)
      for (const row of page.observations) {
        if (row.kind === 'oracle_round') prices.add(row.price)
        times.add(row.venueTimeMs)
      }
    }
    return { covered, times, prices: [...prices] }
  }
  return { venue, walk, asked: () => questions }
}

test('rounds of both phases are read', async () => {
  const { walk } = nodeWith()
  const { times, prices } = await walk()
  assert.deepEqual({ rounds: times.size, prices }, { rounds: 60, prices: ['1'] })
})

test('an answer with another id is of another question', async () => {
  for (const wrong of [
    (id: number) => id + 1,
    () => null,
    (id: number) => String(id),
    () => ({ toString: 1 }),
  ]) {
    const { walk, venue } = nodeWith({
      reply: (id, result) => ({ jsonrpc: '2.0', id: wrong(id), result }),
    })
    await assert.rejects(walk())
    assert.ok((venue.deadLetters.counts().misfit ?? 0) > 0)
  }
})

test('numbers that no feed has end the walk, or leave their phase uncovered', async () => {
  const huge = `0x${'f'.repeat(64)}`
  const cases: Record<string, Spoiling['call']> = {
    'a newest round of phase 2^190': (selector) =>
      selector === SELECTORS.latestRoundData ? roundHex(1n << 254n, NOW - HOUR) : undefined,
    'a price of 2^200': (selector) =>
      selector === SELECTORS.latestRoundData
        ? roundHex(roundIdOf(2n, 40n), NOW - HOUR, 1n << 200n)
        : undefined,
    'a last round of 2^256 in the phase before': (selector) =>
      selector === SELECTORS.latestRound ? huge : undefined,
    'a newest round of 2^60, and nothing in between': (selector) =>
      selector === SELECTORS.latestRoundData ? roundHex(roundIdOf(2n, 1n << 60n), NOW - HOUR) : undefined,
    'a newest round of 2^60, and other rounds in between': (selector, argument) => {
      if (selector === SELECTORS.latestRoundData) return roundHex(roundIdOf(2n, 1n << 60n), NOW - HOUR)
      if (selector !== SELECTORS.getRoundData || BigInt.asUintN(64, argument) <= 40n) return undefined
      return roundHex(argument + 1n, NOW - HOUR)
    },
    'words without end': (selector) =>
      selector === SELECTORS.latestRoundData ? `0x${'0'.repeat(64 * 50_000)}` : undefined,
  }
  for (const [name, call] of Object.entries(cases)) {
    const { walk, asked } = nodeWith({ ...(call === undefined ? {} : { call }) })
    const before = process.threadCpuUsage()
    const walked = await walk().catch(() => undefined)
    const { user, system } = process.threadCpuUsage(before)
    assert.ok(asked() < 40_000, `${name}: ${asked()} questions`)
    assert.ok(user + system < 60_000_000, name)
    for (const { fromMs, toMs } of walked?.covered ?? [])
      for (const timeMs of TIMES)
        if (timeMs >= fromMs && timeMs < toMs)
          assert.ok(walked?.times.has(timeMs), `${name}: the round of ${timeMs} is covered and missing`)
  }
})

test('a block number of any length is none: the witness does not count up to it', async () => {
  for (const number of [`0x${'f'.repeat(60)}`, '0x', '10000', 'NaN', 10_000, `-0x1`]) {
    const { venue, asked } = nodeWith({ block: { number, timestamp: '0x1' } })
    await assert.rejects(venue.witness({ topic: 'oracle_rounds', symbol: 'BTC' }, { signal }))
    assert.ok(asked() < 10)
  }
  const { venue } = nodeWith()
  const witness = await venue.witness({ topic: 'oracle_rounds', symbol: 'BTC' }, { signal })
  assert.deepEqual(witness, { newestMs: null, newestId: null })
})

test('long answers are not looked at', () => {
  const long = `0x${'0'.repeat(64 * 200_000)}`
  assert.equal(wordsOf(long), undefined)
  assert.equal(decodeRound(long), undefined)
  const calls = `0x${[32n, 1n, 32n, 1n, 64n, 6_000_000n].map(word).join('')}${'0'.repeat(12_000_000)}`
  assert.equal(decodeMulticall(calls), undefined)
})
