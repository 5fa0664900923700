/**
 * Rounds over running contracts, for trades that the socket did not send.
 *
 *   list ──▶ contracts whose volume has changed since they were last swept, or is not known, and those that the list
 *            leaves out
 *        ──▶ their trades since the last round ──fewer than the volume has grown by──▶ requested again
 *        ──▶ everything before the list was emitted: `swept_to`
 *
 * The recorder itself requests trades from before the session; closed contracts are swept as a whole.
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { SessionIo } from '../live/venue-tasks.ts'
import type { TradeObservation } from '../observation.ts'
import type { KalshiCatalogue, KnownContract } from './catalogue.ts'
import { countVolumes } from './counted-volume.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'
import { aboutOf } from './mapper.ts'
import { isCurrent } from './sweep-trades.ts'

/** The recorder requests trades up to the start, but the newest are not listed yet, so rounds begin earlier by this. */
const BEFORE_START_MS = 2 * 60_000
/** After this time a trade is both in the list and in the volume. */
const SETTLED_AFTER_MS = 60_000
const RETRY_MS = 15_000
const AT_ONCE = 4

export function createContractRounds(options: {
  catalogue: KalshiCatalogue
  clock: Clock
  /** How many symbols share the budget. */
  symbols: number
  isSwept: (ticker: string) => boolean
  /** Emits the trades of a contract from `fromMs` on; undefined if the venue did not answer. */
  sweep: (
    session: SessionIo,
    symbol: AssetSymbol,
    ticker: string,
    fromMs: number,
  ) => Promise<readonly TradeObservation[] | undefined>
}) {
  const { catalogue, clock } = options
  const firstMs = clock.now() - BEFORE_START_MS
  const pauseMs = (1_000 * AT_ONCE * options.symbols) / TIMES.roundPerSecond
  const listedMs = new Map<AssetSymbol, number>()
  const rounds = new Map<AssetSymbol, { nextMs: number; toMs: number }>()
  /** The volume of a contract when it was last swept; null if the list did not have it. */
  const volumes = new Map<string, number | null>()
  const counts = countVolumes()

  const volumeOf = ({ market }: KnownContract) => (market.volume == null ? null : Number(market.volume))
  const isTraded = (contract: KnownContract) => {
    const volume = volumeOf(contract)
    return volume === null || volume !== (volumes.get(contract.market.marketId) ?? 0)
  }

  return {
    /** The contracts of a symbol were listed; the request was sent at `askedMs`. */
    listed(symbol: AssetSymbol, askedMs: number) {
      listedMs.set(symbol, askedMs)
      for (const contract of catalogue.of(symbol)) {
        const volume = volumeOf(contract)
        // A contract that is missing in the answer has an older volume, and trades since then would be counted nowhere.
        if (volume !== null && contract.receivedMs >= askedMs)
          counts.listed(contract.market.marketId, volume, askedMs - SETTLED_AFTER_MS)
      }
    },
    /** Runs the round if it is due. */
    async round(session: SessionIo, symbol: AssetSymbol) {
      const nowMs = clock.now()
      const before = rounds.get(symbol) ?? { nextMs: 0, toMs: firstMs }
      const asOfMs = listedMs.get(symbol)
      if (asOfMs === undefined || nowMs < before.nextMs || session.isPaused()) return
      for (const ticker of volumes.keys()) if (catalogue.get(ticker) === undefined) volumes.delete(ticker)
      counts.forgetUnless((ticker) => catalogue.get(ticker) !== undefined)
      let isWhole = true
      const traded = catalogue
        .of(symbol)
        .filter((contract) => isTraded(contract) || !isCurrent(contract, asOfMs))
        .filter(({ market }) => !options.isSwept(market.marketId))
      const sweep = async (contract: KnownContract) => {
        const { marketId } = contract.market
        const volume = volumeOf(contract)
        const sinceMs = volumes.has(marketId)
          ? Math.max(firstMs, before.toMs - TIMES.roundOverlapMs)
          : firstMs
        const trades = await options.sweep(session, symbol, marketId, sinceMs)
        if (trades === undefined) {
          isWhole = false
          return
        }
        counts.received(marketId, trades, sinceMs)
        if (volume !== null && counts.isLacking(marketId, volume, clock.now())) isWhole = false
        else volumes.set(marketId, volume)
      }
      for (let from = 0; from < traded.length; from += AT_ONCE) {
        if (session.signal.aborted) return
        await Promise.all(traded.slice(from, from + AT_ONCE).map(sweep))
        await clock.sleep(pauseMs, session.signal).catch(() => {})
      }
      if (!isWhole) {
        rounds.set(symbol, { ...before, nextMs: clock.now() + RETRY_MS })
        return
      }
      const toMs = asOfMs - SETTLED_AFTER_MS
      rounds.set(symbol, { nextMs: nowMs + TIMES.roundEveryMs, toMs })
      const receivedMs = clock.now()
      const about = { ...aboutOf(symbol, '', receivedMs), venueTimeMs: receivedMs, key: null }
      session.emit(`trades:${symbol}`, { kind: 'swept_to', ...about, toMs })
    },
  }
}
