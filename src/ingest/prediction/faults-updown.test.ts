/**
 * Every fault switch of the simulated Up/Down venue. In every case rows and gaps together cover each window, every book
 * outside the gaps is the one of its instant, none is crossed, no trade is missing or stored twice, and every winner is
 * found.
 */
import type { FaultCase } from '../../../test/predictions/fault-run.ts'
import { proveFaults } from '../../../test/predictions/prove-faults.ts'

const venue = 'polymarket'
const symbol = 'BTC'
const START_MS = Date.parse('2026-11-15T10:00:20Z')

/** After a fault a socket may pause for up to half a minute before its next attempt. */
const CASES: readonly FaultCase[] = [
  {
    name: 'duplicate',
    faults: [{ kind: 'duplicate', venue, durationMs: 20_000 }],
    lastsMs: 25_000,
    gap: false,
  },
  { name: 'reorder', faults: [{ kind: 'reorder', venue, durationMs: 20_000 }], lastsMs: 30_000 },
  { name: 'drop', faults: [{ kind: 'drop', venue, durationMs: 15_000 }], lastsMs: 60_000, gap: true },
  { name: 'mute', faults: [{ kind: 'mute', venue, symbol, durationMs: 20_000 }], lastsMs: 40_000, gap: true },
  { name: 'hang', faults: [{ kind: 'hang', venue, durationMs: 40_000 }], lastsMs: 110_000, gap: true },
  { name: 'skip', faults: [{ kind: 'mute', venue, channel: 'price_change', count: 3 }], lastsMs: 40_000 },
  { name: 'malformed', faults: [{ kind: 'malformed', venue, count: 3 }], lastsMs: 30_000 },
  {
    name: 'frozen-book',
    faults: [{ kind: 'frozen-book', venue, symbol, durationMs: 60_000 }],
    lastsMs: 80_000,
    gap: true,
  },
  { name: 'crossed-book', faults: [{ kind: 'crossed-book', venue, symbol, count: 2 }], lastsMs: 25_000 },
  { name: 'skew', faults: [{ kind: 'skew', venue, durationMs: 20_000, offsetMs: 1_500 }], lastsMs: 30_000 },
  {
    name: 'rate-limit',
    faults: [{ kind: 'rate-limit', venue, durationMs: 30_000, retryAfterS: 5 }],
    lastsMs: 40_000,
    gap: false,
  },
  {
    name: 'http-error',
    faults: [{ kind: 'http-error', venue, durationMs: 30_000, status: 503 }],
    lastsMs: 40_000,
    gap: false,
  },
  {
    name: 'REST: hang, reset and broken bodies',
    faults: [
      { kind: 'hang', venue, channel: 'gamma', durationMs: 20_000 },
      { kind: 'drop', venue, channel: 'clob', durationMs: 20_000 },
      { kind: 'malformed', venue, channel: 'data', durationMs: 20_000 },
    ],
    lastsMs: 35_000,
    gap: false,
  },
  {
    name: 'late and unannounced resolution',
    faults: [
      { kind: 'late-resolution', venue, delayMs: 45_000, durationMs: 400_000 },
      { kind: 'lost-resolved', venue, durationMs: 400_000 },
    ],
    lastsMs: 20_000,
    gap: false,
  },
]

proveFaults({
  venue,
  source: 'predmkt_a',
  startMs: START_MS,
  slotMs: 1_000,
  settleMs: 6 * 60_000,
  cases: CASES,
  endsBeforeMs: 1_000,
  reachesBack: true,
  least: { markets: 0, rows: 500, trades: 50 },
  ended: { least: 2, afterMs: 3 * 60_000 },
})
