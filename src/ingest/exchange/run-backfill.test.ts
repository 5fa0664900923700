import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { createLogger } from '../../kit/log.ts'
import type { CoverageStore } from '../../store/coverage.ts'
import { binanceSpotPlan } from '../../venues/binance-spot/plan.ts'
import type { HistoryPage, HistoryRequest } from '../../venues/venue.ts'
import { whileThereIsRoom } from '../shared/backfill-pace.ts'
import { runBackfill } from './run-backfill.ts'
import type { SymbolParts } from './symbol-parts.ts'

const NOW = Date.parse('2026-03-14T12:00:00Z')

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
