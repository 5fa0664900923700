import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { createLogger } from '../../kit/log.ts'
import type { CoverageStore } from '../../store/coverage.ts'
import { binanceFuturesPlan } from '../../venues/binance-futures/plan.ts'
import { binanceSpotPlan } from '../../venues/binance-spot/plan.ts'
import type { HistoryPage, HistoryRequest } from '../../venues/venue.ts'
import { whileThereIsRoom } from '../shared/backfill-pace.ts'
import { runBackfill } from './run-backfill.ts'
import type { SymbolParts } from './symbol-parts.ts'

const NOW = Date.parse('2026-03-14T12:00:00Z')
const NO_ROWS = async () => ({ text: '', count: 0, hasMore: false, last: undefined })

test('on a disk that is nearly full the counts that flow waits for are requested, and nothing else', async () => {
  const asked = new Set<string>()
  const filled: string[] = []
  const stop = new AbortController()
  async function* history({ topic, range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    asked.add(topic)
    yield { observations: [], covered: range, missing: [] }
  }
  const parts = {
    plan: binanceSpotPlan,
    symbol: 'BTC',
    clock: manualClock(NOW),
    signal: stop.signal,
    venue: { history },
    writer: { put() {}, final() {}, async ready() {}, async flush() {} },
    tracker: { confirm() {}, missing() {} },
  } as unknown as SymbolParts
  const coverage: CoverageStore = {
    async read([feed], from, to) {
      const gaps =
        feed === undefined ? [] : [{ source: feed.source, from, to, reason: 'not_observed' as const }]
      return { complete: false, observed: [], gaps }
    },
  }
  await runBackfill({
    steps: binanceSpotPlan.backfill.filter(({ kind }) => kind !== 'seconds'),
    targets: [{ parts, endMs: () => NOW }],
    ...{ coverage, log: createLogger({ level: 'silent' }) },
    pace: whileThereIsRoom(
      async () => {},
      {
        now: () => NOW,
        async sleep() {
          stop.abort()
          throw new Error('stopped while it waited for room')
        },
      },
      () => true,
    ),
    async onStep({ kind }) {
      if (!stop.signal.aborted) filled.push(kind)
    },
  })
  assert.deepEqual([[...asked], filled], [['aggregate_trades'], ['counts']])
})

test('minutes without a trade are counted, too: only those that the venue has not answered for stay a gap', async () => {
  const MINUTE_MS = 60_000
  const answeredMs = NOW - 10 * MINUTE_MS
  const confirmed: (readonly [string, number, number])[] = []
  async function* history({ range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    const toMs = Math.min(range.toMs, answeredMs)
    yield { observations: [], covered: { ...range, toMs }, missing: [] }
  }
  const parts = {
    ...{ plan: binanceSpotPlan, symbol: 'BTC', clock: manualClock(NOW), venue: { history } },
    signal: new AbortController().signal,
    writer: { put() {}, final() {}, async ready() {}, async flush() {} },
    tracker: {
      confirm: (feed: { dataset: string }, fromMs: number, toMs: number) =>
        void confirmed.push([feed.dataset, fromMs, toMs]),
    },
  } as unknown as SymbolParts
  const fromMs = NOW - 30 * MINUTE_MS
  const gap = { source: 'cexa', from: fromMs, to: NOW, reason: 'not_observed' } as const
  await runBackfill({
    steps: binanceSpotPlan.backfill.filter(({ kind }) => kind === 'counts'),
    targets: [{ parts, endMs: () => NOW }],
    coverage: { read: async () => ({ complete: false, observed: [], gaps: [gap] }) },
    log: createLogger({ level: 'silent' }),
  })
  assert.deepEqual(confirmed, [['flow', fromMs, answeredMs]])
})

test('seconds after a sample that could not be requested are tried again, and those before it are not', async () => {
  const MINUTE_MS = 60_000
  const fromMs = NOW - 10 * MINUTE_MS
  const sampleMs = NOW - 5 * MINUTE_MS
  const run = async (failures: number) => {
    const seconds: (readonly [number, number])[] = []
    let failed = 0
    async function* history({ topic, range }: HistoryRequest): AsyncGenerator<HistoryPage> {
      if (topic === 'open_interest' && failed++ < failures) throw new Error('no answer')
      if (topic === 'aggregate_trades')
        seconds.push([(range.fromMs - fromMs) / 1_000, (range.toMs - fromMs) / 1_000])
      yield { observations: [], covered: range, missing: [] }
    }
    const parts = {
      ...{ plan: binanceFuturesPlan, symbol: 'BTC', random: () => 0.5, venue: { history, describe: {} } },
      clock: { now: () => NOW + 40 * MINUTE_MS, async sleep() {} },
      signal: new AbortController().signal,
      series: { earliest: async () => fromMs, page: NO_ROWS },
      writer: { put() {}, final() {}, async ready() {}, async flush() {} },
      tracker: { confirm() {}, missing() {} },
    } as unknown as SymbolParts
    const coverage: CoverageStore = {
      async read([feed], from, to) {
        const span = { from: feed?.dataset === 'open_interest' ? sampleMs : from, to }
        const isLacking = feed !== undefined && feed.dataset !== 'funding'
        const gaps = isLacking ? [{ source: feed.source, ...span, reason: 'not_observed' as const }] : []
        return { complete: false, observed: [], gaps }
      },
    }
    const { done, failed: left } = await runBackfill({
      steps: binanceFuturesPlan.backfill.filter(({ kind }) => kind === 'seconds'),
      targets: [{ parts, endMs: () => NOW }],
      ...{ coverage, log: createLogger({ level: 'silent' }) },
    })
    return { done, left, seconds }
  }
  const [before, after] = [[0, 299] as const, [299, 600] as const]
  assert.deepEqual(await run(2), { done: 1, left: 0, seconds: [before, after] })
  assert.deepEqual(await run(100), { done: 0, left: 1, seconds: [before] })
})

test('seconds are filled from the beginning of their recording, although their first trade came later', async () => {
  const MINUTE_MS = 60_000
  const beganMs = NOW - 20 * MINUTE_MS
  const run = async (firstRowMs: number | undefined, hasBegun: boolean) => {
    const asked: number[] = []
    async function* history({ topic, range }: HistoryRequest): AsyncGenerator<HistoryPage> {
      if (topic === 'aggregate_trades') asked.push(range.fromMs)
      yield { observations: [], covered: range, missing: [] }
    }
    const parts = {
      ...{ plan: binanceFuturesPlan, symbol: 'BTC', clock: manualClock(NOW), venue: { history } },
      signal: new AbortController().signal,
      series: { earliest: async () => firstRowMs, page: NO_ROWS },
      writer: { put() {}, final() {}, async ready() {}, async flush() {} },
      tracker: { confirm() {}, missing() {} },
    } as unknown as SymbolParts
    const coverage: CoverageStore = {
      async read([feed], from, to) {
        const isSeconds = feed?.dataset === 'candles'
        const gap = (fromMs: number, toMs: number, reason: 'before_start' | 'not_observed') =>
          fromMs < toMs ? [{ source: 'cexa_futures' as const, from: fromMs, to: toMs, reason }] : []
        const gaps = hasBegun
          ? [...gap(from, beganMs, 'before_start'), ...gap(Math.max(from, beganMs), to, 'not_observed')]
          : gap(from, to, 'not_observed')
        return { complete: false, observed: [], gaps: isSeconds ? gaps : [] }
      },
    }
    await runBackfill({
      steps: binanceFuturesPlan.backfill.filter(({ kind }) => kind === 'seconds'),
      targets: [{ parts, endMs: () => NOW }],
      ...{ coverage, log: createLogger({ level: 'silent' }) },
    })
    return Math.min(...asked)
  }
  assert.equal(await run(NOW - 10 * MINUTE_MS, true), beganMs)
  assert.equal(await run(NOW - 10 * MINUTE_MS, false), NOW - 10 * MINUTE_MS)
  assert.equal(await run(undefined, false), Number.POSITIVE_INFINITY, 'nothing was recorded yet')
})

test('a stored second in which the venue has no trade is a gap that is not requested again', async () => {
  const fromMs = NOW - 10 * 60_000
  const ours = [fromMs + 3_000, fromMs + 7_000]
  const changes: (readonly [string, number, number, string?])[] = []
  async function* history({ topic, range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    const about = { source: 'cexa_futures', symbol: 'BTC', instrument: 'BTCUSDT', receivedMs: NOW } as const
    const ids = {
      key: '1',
      id: 1,
      firstTradeId: 1,
      lastTradeId: 1,
      price: '2',
      size: '1',
      side: 'buy',
    } as const
    const trade = { kind: 'aggregate_trade', ...about, ...ids, venueTimeMs: fromMs + 3_100 } as const
    yield { observations: topic === 'aggregate_trades' ? [trade] : [], covered: range, missing: [] }
  }
  const record = (name: string) => (feed: { dataset: string }, from: number, to: number, reason?: string) => {
    const span = [name, (from - fromMs) / 1_000, (to - fromMs) / 1_000] as const
    if (feed.dataset === 'candles') changes.push(reason === undefined ? span : [...span, reason])
  }
  const page = async () => ({
    text: ours.map((timeMs) => JSON.stringify({ timestamp: new Date(timeMs).toISOString() })).join('\n'),
    ...{ count: ours.length, hasMore: false, last: undefined },
  })
  const parts = {
    ...{ plan: binanceFuturesPlan, symbol: 'BTC', clock: manualClock(NOW), venue: { history } },
    signal: new AbortController().signal,
    series: { earliest: async () => fromMs, page },
    counts: { emptyTrades: 0 },
    writer: { put() {}, final() {}, async ready() {}, async flush() {} },
    tracker: { confirm: record('confirm'), lost: record('lost'), missing() {} },
  } as unknown as SymbolParts
  const coverage: CoverageStore = {
    async read([feed], from, to) {
      const gap = { source: 'cexa_futures' as const, from, to, reason: 'not_observed' as const }
      return { complete: false, observed: [], gaps: feed?.dataset === 'candles' ? [gap] : [] }
    },
  }
  await runBackfill({
    steps: binanceFuturesPlan.backfill.filter(({ kind }) => kind === 'seconds'),
    targets: [{ parts, endMs: () => NOW }],
    ...{ coverage, log: createLogger({ level: 'silent' }) },
  })
  assert.deepEqual(changes, [
    ['confirm', 0, 7],
    ['confirm', 8, 600],
    ['lost', 7, 8, 'not_provided'],
  ])
})
