import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { binanceFuturesPlan } from '../../venues/binance-futures/plan.ts'
import { hyperliquidPlan } from '../../venues/hyperliquid/plan.ts'
import type { CandleObservation } from '../../venues/observation.ts'
import type { HistoryPage } from '../../venues/venue.ts'
import { closeMinutes } from './close-minutes.ts'
import type { SymbolParts } from './symbol-parts.ts'

const START_MS = Date.parse('2026-11-10T10:00:00Z')
const MINUTE_MS = 60_000
const at = (minute: number) => START_MS + minute * MINUTE_MS

const kline = (minute: number, open: string): CandleObservation => ({
  ...{ kind: 'candle', source: 'perpdex', symbol: 'BTC', instrument: 'BTC', key: null, interval: '1m' },
  ...{ openTimeMs: at(minute), closeTimeMs: at(minute + 1), open, high: '3', low: '1', close: '2' },
  ...{ volume: '1', tradeCount: 1, quoteVolume: null, takerBuyVolume: null, takerBuyQuoteVolume: null },
  ...{ closed: true, venueTimeMs: at(minute), receivedMs: at(4) },
})

test('a minute that cannot be served is requested again for six minutes, those before it are closed', () => {
  const clock = manualClock(at(4))
  const parts = { plan: hyperliquidPlan, symbol: 'BTC', clock } as unknown as SymbolParts
  const minutes = closeMinutes(parts, START_MS)
  const answer = (bad: number): HistoryPage => ({
    observations: [0, 1, 2].map((minute) => kline(minute, minute === bad ? '-1' : '2')),
    covered: { fromMs: at(0), toMs: at(3) },
    missing: [{ range: { fromMs: at(3), toMs: at(4) }, reason: 'not_provided' }],
  })
  assert.equal(minutes.held(answer(9)).observations.length, 3, 'all can be served')
  const cut = minutes.held(answer(1))
  assert.deepEqual(
    [cut.observations.length, cut.covered, cut.missing],
    [1, { fromMs: at(0), toMs: at(1) }, []],
  )
  assert.equal(minutes.held(answer(0)).covered, null)
  clock.advance(6 * MINUTE_MS)
  assert.equal(minutes.held(answer(1)).observations.length, 3, 'it was waited for')
  clock.advance(30 * MINUTE_MS)
  assert.equal(minutes.held(answer(2)).observations.length, 3, 'others do not wait again soon')
  clock.advance(30 * MINUTE_MS)
  assert.equal(minutes.held(answer(2)).observations.length, 2)
})

test('a minute that the answer lacks although the stream showed its trades is waited for, then a gap', () => {
  const calls: string[] = []
  const note = ({ interval }: { interval: string }, timeMs: number) =>
    calls.push(`${interval} ${(timeMs - START_MS) / MINUTE_MS}`)
  const closed: string[] = []
  const clock = manualClock(at(5))
  const parts = {
    ...{ plan: hyperliquidPlan, symbol: 'BTC', clock, derivatives: undefined, counts: { differences: 0 } },
    writer: {
      put: ({ interval }: { interval: string }, rows: readonly { time: number; closed: boolean }[]) => {
        for (const row of rows)
          if (row.closed) closed.push(`${interval} ${(row.time - START_MS) / MINUTE_MS}`)
      },
      final() {},
      refuse: note,
    },
    tracker: { confirm() {}, lost() {}, missing() {} },
  } as unknown as SymbolParts
  const minutes = closeMinutes(parts, START_MS)
  for (const minute of [0, 1, 2, 4]) minutes.receive(kline(minute, '2'))
  // The stream showed no trade in the fourth minute either.
  minutes.receive({ ...kline(3, '2'), volume: '0', tradeCount: 0 })
  const answer: HistoryPage = {
    observations: [0, 1, 4].map((minute) => kline(minute, '2')),
    covered: { fromMs: at(0), toMs: at(5) },
    missing: [],
  }
  assert.deepEqual(minutes.held(answer).covered, { fromMs: at(0), toMs: at(2) })
  clock.advance(6 * MINUTE_MS)
  assert.equal(minutes.held(answer), answer)
  minutes.take(answer)
  assert.deepEqual(closed, ['1m 0', '1m 1', '1m 4'], 'no candle of five minutes')
  assert.deepEqual(calls, ['1m 2', '5m 0', '15m 0', '1h 0', '4h -120', '1d -600'])
})

test('minutes that are closed without the open interest of their time are shown, and are a gap', () => {
  const calls: string[] = []
  const note =
    (what: string) =>
    ({ interval }: { interval: string }, ...times: unknown[]) => {
      if (interval !== '1m' && interval !== '5m') return
      const minutes = times.map((time) => (typeof time === 'number' ? (time - START_MS) / MINUTE_MS : time))
      calls.push([what, interval, ...minutes].join(' '))
    }
  const parts = {
    ...{ plan: binanceFuturesPlan, symbol: 'BTC', clock: manualClock(at(20)), derivatives: undefined },
    writer: {
      put: ({ interval }: { interval: string }, rows: readonly { time: number }[]) =>
        note('row')({ interval }, ...rows.map(({ time }) => time)),
      final: note('final'),
    },
    tracker: { confirm: note('observed'), lost: note('gap'), missing: note('missing') },
    counts: { differences: 0 },
  } as unknown as SymbolParts
  const page = {
    observations: [3, 4].map((minute) => ({ ...kline(minute, '2'), takerBuyVolume: '1' })),
    covered: { fromMs: at(3), toMs: at(5) },
    missing: [],
  }
  // The sample of minute 5 is unknown, and it belongs to the candle that ends there.
  closeMinutes(parts, at(3)).take(page, at(4))
  assert.deepEqual(calls, [
    ...['row 1m 3', 'row 1m 4', 'observed 1m 3 4', 'final 1m 4', 'observed 5m 3 4', 'final 5m 0'],
    ...['gap 1m 4 5 venue_down', 'gap 5m 0 5 venue_down'],
  ])

  // After a restart the whole day is requested again, and what was final before has the values of its time.
  calls.length = 0
  const before = { '1m': at(4), '5m': at(0) } as Record<string, number>
  closeMinutes(parts, at(0), (interval) => before[interval] ?? 0).take(
    { ...page, covered: { fromMs: at(0), toMs: at(5) } },
    at(-60),
  )
  assert.deepEqual(calls.slice(-2), ['gap 1m 4 5 venue_down', 'gap 5m 0 5 venue_down'])
  before['5m'] = at(5)
  closeMinutes(parts, at(0), (interval) => before[interval] ?? 0).take(
    { ...page, covered: { fromMs: at(0), toMs: at(5) } },
    at(-60),
  )
  assert.equal(calls.at(-1), 'gap 1m 4 5 venue_down')
})

test('a minute without a trade that the venue may never publish is shown once it is closed', () => {
  for (const [plan, isShownOpen] of [
    [hyperliquidPlan, false],
    [binanceFuturesPlan, true],
  ] as const) {
    let rows: string[] = []
    const parts = {
      ...{ plan, symbol: 'BTC', clock: manualClock(at(20)), derivatives: undefined },
      ...{ counts: { differences: 0 }, tracker: { confirm() {}, lost() {}, missing() {} } },
      writer: {
        put({ interval }: { interval: string }, found: readonly { time: number; closed: boolean }[]) {
          if (interval === '1m' || interval === '5m')
            for (const { time, closed } of found)
              rows.push(`${interval} ${(time - START_MS) / MINUTE_MS} ${closed ? 'closed' : 'open'}`)
        },
        final() {},
      },
    } as unknown as SymbolParts
    const minutes = closeMinutes(parts, START_MS)
    const quiet = { ...kline(0, '2'), volume: '0', tradeCount: 0, takerBuyVolume: '0' }
    minutes.receive(quiet)
    minutes.show()
    assert.deepEqual(rows, isShownOpen ? ['1m 0 open', '5m 0 open'] : [])
    rows = []
    minutes.take({ observations: [quiet], covered: { fromMs: at(0), toMs: at(1) }, missing: [] })
    minutes.show()
    assert.deepEqual(rows, ['1m 0 closed', '5m 0 open'])
  }
})

test('while no minute can be closed, only what changed is shown again', () => {
  let rows: string[] = []
  const parts = {
    ...{ plan: hyperliquidPlan, symbol: 'BTC', clock: manualClock(at(20)), derivatives: undefined },
    writer: {
      put({ interval }: { interval: string }, [row]: readonly { time: number; volume: number }[]) {
        if (interval !== '4h' && interval !== '1d')
          rows.push(`${interval} ${((row?.time ?? 0) - START_MS) / MINUTE_MS}: ${row?.volume}`)
      },
    },
  } as unknown as SymbolParts
  const minutes = closeMinutes(parts, START_MS)
  const shown = () => {
    rows = []
    minutes.show()
    return rows
  }
  for (const minute of [0, 1, 5, 6]) minutes.receive(kline(minute, '2'))
  assert.deepEqual(shown(), [
    ...['1m 0: 1', '1m 1: 1', '1m 5: 1', '1m 6: 1'],
    ...['5m 0: 2', '5m 5: 2', '15m 0: 4', '1h 0: 4'],
  ])
  assert.deepEqual(shown(), [])
  minutes.receive({ ...kline(6, '2'), volume: '3' })
  assert.deepEqual(shown(), ['1m 6: 3', '5m 5: 4', '15m 0: 6', '1h 0: 6'])
})
