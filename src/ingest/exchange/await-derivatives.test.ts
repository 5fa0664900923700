import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { binanceFuturesPlan } from '../../venues/binance-futures/plan.ts'
import type { HistoryPage, HistoryRequest } from '../../venues/venue.ts'
import { DerivativesProgress } from './await-derivatives.ts'
import type { SymbolParts } from './symbol-parts.ts'

const MINUTE_MS = 60_000
const NOW = Date.parse('2026-03-14T12:07:00Z')

test('requested open interest is observed up to the last sample, and minutes wait for the next for ten minutes', async () => {
  const newestMs = NOW - 2 * MINUTE_MS
  const limits: [channel: string, toMs: number][] = []
  async function* history({ topic, range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    const toMs = topic === 'open_interest' ? newestMs : range.toMs
    yield { observations: [], covered: { fromMs: range.fromMs, toMs }, missing: [] }
  }
  const parts = {
    plan: binanceFuturesPlan,
    symbol: 'BTC',
    clock: manualClock(NOW),
    signal: new AbortController().signal,
    venue: { history },
    writer: { put() {}, final() {}, async ready() {} },
    tracker: {
      confirm() {},
      up() {},
      limitChannel: (channel: string, toMs: number) => void limits.push([channel, toMs]),
    },
    derivatives: {},
  } as unknown as SymbolParts
  const progress = new DerivativesProgress(parts, NOW - 60 * MINUTE_MS)
  // The sample of 12:05 is not published yet: minutes up to 12:04 have theirs.
  assert.equal(await progress.request(NOW - MINUTE_MS, NOW), NOW - 3 * MINUTE_MS)
  assert.deepEqual(limits, [['asked:open_interest:BTC', newestMs]])
  assert.equal(await progress.request(NOW, NOW + 500), NOW - 3 * MINUTE_MS)
  assert.equal(limits.length, 1, 'a sample that is late is not requested every second')
  const lateMs = newestMs + 10 * MINUTE_MS
  assert.equal(await progress.request(lateMs - MINUTE_MS, lateMs), lateMs - MINUTE_MS)
})
