import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import type { CoverageStore, Gap } from '../../store/coverage.ts'
import { binanceFuturesPlan } from '../../venues/binance-futures/plan.ts'
import type { HistoryPage, HistoryRequest } from '../../venues/venue.ts'
import { requestJoined } from './request-joined.ts'
import type { SymbolParts } from './symbol-parts.ts'

const MINUTE_MS = 60_000
const NOW = Date.parse('2026-03-14T12:07:30Z')
const at = (text: string) => Date.parse(`2026-03-14T${text}Z`)

/** A venue whose newest sample is at `newestMs`, and a store whose open interest has these gaps. */
function setUp(
  gaps: readonly Pick<Gap, 'from' | 'to' | 'reason'>[],
  newestMs: number,
  nowMs = NOW,
  failing?: HistoryRequest['topic'],
) {
  const asked: string[] = []
  async function* history({ topic, range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    if (topic === failing) throw new Error(`no ${topic}`)
    asked.push(`${topic} ${new Date(range.fromMs).toISOString().slice(11, 19)}`)
    yield {
      observations: [],
      covered: { fromMs: range.fromMs, toMs: Math.min(range.toMs, newestMs + 1) },
      missing: [],
    }
  }
  const parts = {
    plan: binanceFuturesPlan,
    symbol: 'BTC',
    clock: manualClock(nowMs),
    signal: new AbortController().signal,
    venue: { history },
    writer: { put() {}, final() {}, async ready() {}, async flush() {} },
    tracker: { confirm() {}, missing() {} },
    derivatives: {},
  } as unknown as SymbolParts
  const coverage: CoverageStore = {
    async read([feed]) {
      const own =
        feed?.dataset === 'open_interest' ? gaps.map((gap) => ({ source: feed.source, ...gap })) : []
      return { complete: own.length === 0, observed: [], gaps: own }
    },
  }
  const joined = (fromMs: number, toMs: number) => requestJoined(parts, coverage, { fromMs, toMs }, 1_000)
  return {
    ...{ asked, joined },
    run: async (fromMs: number, toMs: number) => (await joined(fromMs, toMs)).toMs,
  }
}

test('seconds of the past that lack their open interest wait for it, and it is requested', async () => {
  const gap = { from: at('12:00:00.001'), to: NOW, reason: 'not_observed' } as const
  const early = setUp([gap], at('12:00:00'))
  // The sample of 12:05 belongs to the second that ends with it, and to all seconds after it.
  assert.equal(await early.run(at('12:01:00'), at('12:07:00')), at('12:04:59'))
  assert.deepEqual(early.asked, ['funding 12:00:00', 'open_interest 12:00:00'])

  const there = setUp([gap], at('12:05:00'))
  assert.equal(await there.run(at('12:01:00'), at('12:07:00')), at('12:07:00'), 'it was there')

  const late = setUp([gap], at('12:00:00'), at('12:30:00'))
  assert.equal(await late.run(at('12:01:00'), at('12:07:00')), at('12:04:59'), 'however late the venue is')
})

test('a sample that cannot be had leaves the candles before it complete', async () => {
  const gap = { from: at('11:55:00'), to: at('12:00:00'), reason: 'not_observed' } as const
  const { joined } = setUp([gap], NOW, at('12:40:00'), 'open_interest')
  const { toMs, error } = await joined(at('10:00:00'), at('12:00:00'))
  assert.equal(toMs, at('11:54:59'))
  assert.match(String(error), /no open_interest/, 'and it is known that the rest failed')
  await assert.rejects(joined(at('11:55:00'), at('12:00:00')), /no open_interest/, 'there is none before it')
})

test('candles of an hour whose rate may still come wait for it, whatever is covered', async () => {
  const { run } = setUp([], at('11:59:59'))
  assert.equal(await run(at('11:50:00'), at('12:07:00')), at('12:00:00'))
  const later = setUp([], at('11:59:59'), at('12:31:00'))
  assert.equal(
    await later.run(at('11:50:00'), at('12:07:00')),
    at('12:07:00'),
    'half an hour later there is none',
  )
})

test('nothing is requested that is stored, or that the venue does not provide', async () => {
  for (const gaps of [[], [{ from: at('11:00:00'), to: NOW, reason: 'not_provided' as const }]]) {
    const nowMs = NOW + 30 * MINUTE_MS
    const { asked, run } = setUp(gaps, nowMs, nowMs)
    assert.equal(await run(NOW - 5 * MINUTE_MS, NOW), NOW)
    assert.deepEqual(asked, [])
  }
})
