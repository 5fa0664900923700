/**
 * Records an on-chain price: candles of 5 and 15 minutes, both built from the updates themselves.
 *
 *   oracle_round ──▶ updates ──▶ open candles (each second) ──▶ closed once nothing can change them
 *   venue.history at the start: the rounds of the days before, and of the time that was missed
 *
 * A candle into which no fresh answer can be carried is a gap, because the chain or the feed had stopped.
 */
import { channelKey } from '../../venues/channel.ts'
import { auditOracle } from '../audit/audit-oracle.ts'
import { candleFeed } from '../shared/feeds.ts'
import { type RecorderOptions, recordedSymbols, recordVenue } from '../shared/record-venue.ts'
import type { Recorder } from '../shared/recorder.ts'
import { ORACLE_INTERVALS } from './close-oracle-candles.ts'
import { OracleSymbolRecorder } from './record-oracle-symbol.ts'

export interface OracleOptions extends RecorderOptions {
  /** The longest pause between two answers in normal operation. */
  readonly heartbeatMs: number
  /** How far back rounds are requested at the first start. */
  readonly backMs?: number
}

export function recordOracle(options: OracleOptions): Recorder {
  const symbols = recordedSymbols(options)
  const channels = symbols.map((symbol) => ({ topic: 'oracle_rounds', symbol }) as const)
  return recordVenue(options, {
    channels,
    feeds: channels.flatMap((channel) =>
      ORACLE_INTERVALS.map((interval) => ({
        feed: candleFeed(options.venue.describe.source, channel.symbol, interval),
        channels: [channelKey(channel)],
      })),
    ),
    hasSnapshots: false,
    audits: ({ rows, signal }) => [auditOracle({ ...options, symbols, rows, signal })],
    open: async ({ rows, tracker, signal }) =>
      new Map(
        symbols.map((symbol) => [
          symbol,
          new OracleSymbolRecorder({ ...options, symbol, rows, tracker, signal }),
        ]),
      ),
  })
}
