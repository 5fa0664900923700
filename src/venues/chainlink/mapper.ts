/** Maps a round to an observation. */
import { answerText } from '../../core/oracle-candles.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { OracleRoundGoneObservation, OracleRoundObservation } from '../observation.ts'
import type { Round } from './abi.ts'

export interface OracleFeed {
  readonly symbol: AssetSymbol
  readonly proxy: string
  readonly decimals: number
}

export function mapRound(round: Round, feed: OracleFeed, receivedMs: number): OracleRoundObservation {
  const updatedMs = round.updatedAt * 1_000
  return {
    kind: 'oracle_round',
    source: 'oracle',
    symbol: feed.symbol,
    instrument: feed.proxy,
    venueTimeMs: updatedMs,
    receivedMs,
    key: String(round.roundId),
    roundId: round.roundId,
    price: answerText(round.answer, feed.decimals),
    updatedMs,
  }
}

export function mapGone(
  { roundId, updatedMs }: { readonly roundId: bigint; readonly updatedMs: number },
  { symbol, proxy }: OracleFeed,
  { receivedMs, isDisputed }: { readonly receivedMs: number; readonly isDisputed: boolean },
): OracleRoundGoneObservation {
  return {
    kind: 'oracle_round_gone',
    source: 'oracle',
    symbol,
    instrument: proxy,
    venueTimeMs: updatedMs,
    receivedMs,
    key: null,
    roundId,
    isDisputed,
  }
}
