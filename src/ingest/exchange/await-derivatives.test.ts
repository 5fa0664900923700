import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { binanceFuturesPlan } from '../../venues/binance-futures/plan.ts'
import type { HistoryPage, HistoryRequest } from '../../venues/venue.ts'
import { DerivativesProgress } from './await-derivatives.ts'
import type { SymbolParts } from './symbol-parts.ts'

const MINUTE_MS = 60_000
const NOW = Date.parse('2026-03-14T12:07:00Z')

function partsOf(
  history: (request: HistoryRequest) => AsyncGenerator<HistoryPage>,
  limitChannel = (_channel: string, _toMs: number) => {},
): SymbolParts {
  return {
    plan: binanceFuturesPlan,
    symbol: 'BTC',
    clock: manualClock(NOW),
    signal: new AbortController().signal,
    venue: { history },
    writer: { put() {}, final() {}, async ready() {} },
    tracker: { confirm() {}, up() {}, limitChannel },
    derivatives: { addOpenInterest() {} },
  } as unknown as SymbolParts
}

test('minutes wait for open interest while its requests fail, unless only these fail for ten minutes', async () => {
  const failing = new Set<string>(['candles', 'open_interest'])
  async function* history({ topic, range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    if (failing.has(topic)) throw new Error(`no ${topic}`)
    yield { observations: [], covered: range, missing: [] }
  }
  // As after a restart: the known values end hours ago.
  const progress = new DerivativesProgress(partsOf(history), NOW - 300 * MINUTE_MS)
  const no = { message: 'no open_interest' }
  await assert.rejects(progress.request(NOW, NOW), no)
  await assert.rejects(progress.request(NOW, NOW + 500), no, 'a failed request is not an answer')
  const longMs = NOW + 10 * MINUTE_MS
  await assert.rejects(progress.request(longMs, longMs), { message: 'no candles' }, 'the venue is down')
  failing.delete('candles')
  assert.equal(await progress.request(longMs, longMs + 1), longMs, 'only open interest fails')
  assert.equal(await progress.request(longMs, longMs + 500), longMs, 'and is not requested every second')
  failing.delete('open_interest')
  const laterMs = longMs + MINUTE_MS
  await progress.request(laterMs, laterMs)
  failing.add('open_interest')
  const nextMs = laterMs + 5 * MINUTE_MS
  await assert.rejects(progress.request(nextMs, nextMs), no, 'from its last answer on it is waited for again')
})

test('minutes go on without rates that fail for ten minutes, and are a gap from the first unknown one on', async () => {
  const failing = new Set<string>(['candles', 'funding'])
  async function* history({ topic, range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    if (failing.has(topic)) throw new Error(`no ${topic}`)
    yield { observations: [], covered: range, missing: [] }
  }
  const hourMs = Date.parse('2026-03-14T12:00:00Z')
  const parts = partsOf(history)
  const clock = parts.clock as ReturnType<typeof manualClock>
  const progress = new DerivativesProgress(parts, hourMs)
  const request = (toMs: number) => {
    clock.set(toMs + 31_000)
    return progress.request(toMs, clock.now())
  }
  const fromMs = hourMs + 10 * MINUTE_MS
  await assert.rejects(request(fromMs), { message: 'no funding' })
  const longMs = fromMs + 10 * MINUTE_MS
  await assert.rejects(request(longMs), { message: 'no candles' }, 'the venue is down')
  failing.delete('candles')
  assert.equal(await request(longMs + MINUTE_MS), longMs + MINUTE_MS, 'only rates fail')
  const lateMs = fromMs + 120 * MINUTE_MS
  assert.equal(await request(lateMs), lateMs)
  // No answer has shown that the hours since then have no rate.
  assert.equal(progress.unknownFrom(MINUTE_MS), hourMs - 24 * 60 * MINUTE_MS)
  failing.delete('funding')
  await request(lateMs + MINUTE_MS)
  assert.ok(progress.unknownFrom(MINUTE_MS) > lateMs)
})

test('requested open interest is observed up to the last sample, and minutes wait for the next for ten minutes', async () => {
  const newestMs = NOW - 2 * MINUTE_MS
  const limits: [channel: string, toMs: number][] = []
  async function* history({ topic, range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    const toMs = topic === 'open_interest' ? newestMs : range.toMs
    yield { observations: [], covered: { fromMs: range.fromMs, toMs }, missing: [] }
  }
  const parts = partsOf(history, (...limit) => void limits.push(limit))
  const progress = new DerivativesProgress(parts, NOW - 60 * MINUTE_MS)
  // The sample of 12:05 is not published yet; minutes up to 12:04 have theirs.
  assert.equal(await progress.request(NOW - MINUTE_MS, NOW), NOW - 3 * MINUTE_MS)
  assert.deepEqual(limits, [['asked:open_interest:BTC', newestMs]])
  assert.equal(await progress.request(NOW, NOW + 500), NOW - 3 * MINUTE_MS)
  assert.equal(limits.length, 1, 'a sample that is late is not requested every second')
  const lateMs = newestMs + 10 * MINUTE_MS
  assert.equal(await progress.request(lateMs - MINUTE_MS, lateMs), lateMs - MINUTE_MS)
})

test('minutes wait half a minute for a rate that is due; without it they are not complete', async () => {
  const dueMs = Date.parse('2026-03-14T12:00:00Z')
  let isPublished = false
  async function* history({ topic, range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    const toMs = topic === 'funding' && !isPublished ? dueMs : range.toMs
    yield { observations: [], covered: { fromMs: range.fromMs, toMs }, missing: [] }
  }
  const progress = new DerivativesProgress(partsOf(history), dueMs - 60 * MINUTE_MS)
  const endMs = dueMs + MINUTE_MS
  assert.equal(await progress.request(endMs, endMs + 20_000), 0)
  assert.equal(await progress.request(endMs, endMs + 31_000), endMs)
  assert.equal(progress.unknownFrom(MINUTE_MS), dueMs, 'the rate belongs to the candle that opens with it')
  isPublished = true
  await progress.request(endMs, endMs + 40_000)
  assert.ok(progress.unknownFrom(MINUTE_MS) > endMs)
})
