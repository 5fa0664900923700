import type { DatabaseSync } from 'node:sqlite'
import type { EncodedMarket } from '../../core/rows/market.ts'
import { SOURCES } from '../../core/source.ts'
import { NO_END } from '../markets/market-windows.ts'

/** Writes catalogue entries and returns how many were new or changed. */
export function marketWriter(database: DatabaseSync) {
  const put = database.prepare(
    `INSERT INTO markets VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (source_rank, market_id) DO UPDATE SET symbol = excluded.symbol,
        market_type = excluded.market_type, resolved = excluded.resolved, start_ms = excluded.start_ms,
        end_ms = excluded.end_ms, text = excluded.text
      WHERE text <> excluded.text`,
  )
  const identifiers = database.prepare(
    'SELECT identifier FROM market_identifiers WHERE source_rank = ? AND market_id = ? ORDER BY identifier',
  )
  const forget = database.prepare('DELETE FROM market_identifiers WHERE source_rank = ? AND market_id = ?')
  const name = database.prepare('INSERT OR IGNORE INTO market_identifiers VALUES (?, ?, ?)')

  const upsertOne = (market: EncodedMarket): boolean => {
    const rank = SOURCES.indexOf(market.source)
    const { changes } = put.run(
      rank,
      market.marketId,
      market.symbol,
      market.marketType ?? '',
      market.resolved ? 1 : 0,
      market.startMs,
      market.endMs ?? NO_END,
      market.text,
    )
    const wanted = [...new Set(market.identifiers.map((id) => id.toLowerCase()))].sort()
    const known = identifiers.all(rank, market.marketId).map((row) => String(row.identifier))
    const renamed = wanted.length !== known.length || wanted.some((id) => !known.includes(id))
    if (renamed) {
      forget.run(rank, market.marketId)
      for (const id of wanted) name.run(id, rank, market.marketId)
    }
    return renamed || changes > 0
  }

  return (markets: readonly EncodedMarket[]): number => markets.filter(upsertOne).length
}
