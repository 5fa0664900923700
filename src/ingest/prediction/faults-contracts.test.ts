/**
 * Every fault switch of the simulated venue of yes/no contracts. In every case rows and gaps together cover each
 * contract, every book outside the gaps is the one of its instant, none is crossed, no trade is missing or stored
 * twice, and every result is found.
 */
import type { FaultCase } from '../../../test/predictions/fault-run.ts'
import { proveFaults } from '../../../test/predictions/prove-faults.ts'

const venue = 'kalshi'
const symbol = 'BTC'
const isLong = process.env.TAPELINE_SOAK !== undefined
/** A fifteen-minute contract ends during the run. */
const START_MS = Date.parse('2026-11-15T10:05:20Z')

/** After a fault a socket may pause for up to half a minute before its next attempt. */
const CASES: readonly FaultCase[] = [
  {
    name: 'duplicate',
    faults: [{ kind: 'duplicate', venue, durationMs: 20_000 }],
    lastsMs: 30_000,
    gap: false,
  },
  { name: 'reorder', faults: [{ kind: 'reorder', venue, durationMs: 15_000 }], lastsMs: 60_000, gap: true },
  { name: 'drop', faults: [{ kind: 'drop', venue, durationMs: 15_000 }], lastsMs: 60_000, gap: true },
  { name: 'mute', faults: [{ kind: 'mute', venue, symbol, durationMs: 20_000 }], lastsMs: 75_000, gap: true },
  { name: 'hang', faults: [{ kind: 'hang', venue, durationMs: 40_000 }], lastsMs: 110_000, gap: true },
  { name: 'malformed', faults: [{ kind: 'malformed', venue, count: 2 }], lastsMs: 40_000 },
  {
    name: 'sequence-gap',
    faults: [{ kind: 'sequence-gap', venue, channel: 'orderbook_delta', count: 2 }],
    lastsMs: 75_000,
  },
  { name: 'wrong-shape', faults: [{ kind: 'wrong-shape', venue }], lastsMs: 40_000 },
  {
    name: 'frozen-book, too short for a silence',
    faults: [{ kind: 'frozen-book', venue, symbol, durationMs: 25_000 }],
    lastsMs: 60_000,
    gap: true,
  },
  {
    name: 'frozen-book',
    faults: [{ kind: 'frozen-book', venue, symbol, durationMs: 80_000 }],
    lastsMs: 120_000,
    gap: true,
  },
  { name: 'crossed-book', faults: [{ kind: 'crossed-book', venue, symbol }], lastsMs: 40_000 },
  { name: 'skew', faults: [{ kind: 'skew', venue, durationMs: 20_000, offsetMs: 1_500 }], lastsMs: 40_000 },
  {
    name: 'rate-limit',
    faults: [{ kind: 'rate-limit', venue, durationMs: 20_000 }],
    lastsMs: 30_000,
    gap: false,
  },
  {
    name: 'http-error',
    faults: [{ kind: 'http-error', venue, durationMs: 20_000, status: 502 }],
    lastsMs: 30_000,
    gap: false,
  },
  {
    name: 'REST: reset and broken bodies',
    faults: [
      { kind: 'drop', venue, channel: 'rest', durationMs: 10_000 },
      { kind: 'malformed', venue, channel: 'rest', durationMs: 20_000 },
    ],
    lastsMs: 30_000,
    gap: false,
  },
  {
    name: 'late results',
    faults: [{ kind: 'late-resolution', venue, delayMs: 45_000, durationMs: 400_000 }],
    lastsMs: 20_000,
    gap: false,
  },
]

proveFaults({
  venue,
  source: 'predmkt_b',
  startMs: START_MS,
  slotMs: 2_000,
  settleMs: 4 * 60_000,
  cases: CASES,
  endsBeforeMs: 5_000,
  reachesBack: false,
  least: isLong ? { markets: 165, rows: 2_500, trades: 100 } : { markets: 25, rows: 500, trades: 20 },
  ended: { least: 1, afterMs: 0 },
})
