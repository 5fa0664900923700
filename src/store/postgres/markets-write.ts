import type { EncodedMarket } from '../../core/rows/market.ts'
import { SOURCES } from '../../core/source.ts'
import { NO_END } from '../markets/market-windows.ts'
import { compareText } from '../order/arms.ts'
import { arrayOf } from './columns.ts'
import { type Queries, statement } from './database.ts'
import { storable } from './texts.ts'

const PUT = statement(
  'markets_put',
  `INSERT INTO markets AS m (source_rank, market_id, symbol, market_type, resolved, start_ms, end_ms, text)
    SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::bigint[], $7::bigint[],
      $8::text[])
    ON CONFLICT (source_rank, market_id) DO UPDATE SET symbol = excluded.symbol, market_type = excluded.market_type,
        resolved = excluded.resolved, start_ms = excluded.start_ms, end_ms = excluded.end_ms, text = excluded.text
      WHERE m.text <> excluded.text
    RETURNING source_rank AS rank, market_id AS id`,
)
const IDENTIFIERS = statement(
  'market_names',
  `SELECT i.source_rank AS rank, i.market_id AS id, i.identifier FROM market_identifiers i
      JOIN unnest($1::int[], $2::text[]) AS k (rank, id) ON i.source_rank = k.rank AND i.market_id = k.id`,
)
const FORGET = statement(
  'market_forget',
  `DELETE FROM market_identifiers i USING unnest($1::int[], $2::text[]) AS k (rank, id)
    WHERE i.source_rank = k.rank AND i.market_id = k.id`,
)
const NAME = statement(
  'market_name',
  `INSERT INTO market_identifiers (identifier, source_rank, market_id)
    SELECT * FROM unnest($1::text[], $2::int[], $3::text[])`,
)

interface MarketKey {
  readonly rank: number
  readonly id: string
}

interface MarketToWrite extends MarketKey {
  readonly market: EncodedMarket
  readonly identifiers: readonly string[]
}

const nameOf = ({ rank, id }: MarketKey) => `${rank}/${id}`

/** Writes catalogue entries and returns how many of them were new or changed. */
export async function writeMarkets(tx: Queries, markets: readonly EncodedMarket[]): Promise<number> {
  let written = 0
  for (const round of roundsOf(markets)) written += await writeRound(tx, round)
  return written
}

async function writeRound(tx: Queries, markets: readonly MarketToWrite[]): Promise<number> {
  const keys = keysOf(markets)
  const [put, known] = await Promise.all([
    tx.rows<MarketKey>(PUT, [
      ...keys,
      markets.map(({ market }) => market.symbol),
      markets.map(({ market }) => market.marketType ?? ''),
      arrayOf(markets.map(({ market }) => market.resolved)),
      markets.map(({ market }) => market.startMs),
      arrayOf(markets.map(({ market }) => market.endMs ?? NO_END)),
      markets.map(({ market }) => market.text),
    ]),
    tx.rows<MarketKey & { identifier: string }>(IDENTIFIERS, keys),
  ])
  const names = Map.groupBy(known, nameOf)
  const renamed = markets.filter((market) => {
    const old = names.get(nameOf(market)) ?? []
    return (
      old.length !== market.identifiers.length ||
      old.some(({ identifier }) => !market.identifiers.includes(identifier))
    )
  })
  if (renamed.length > 0) {
    const all = renamed.flatMap(({ rank, id, identifiers }) =>
      identifiers.map((identifier) => ({ rank, id, identifier })),
    )
    await Promise.all([
      tx.run(FORGET, keysOf(renamed)),
      tx.run(NAME, [all.map(({ identifier }) => identifier), ...keysOf(all)]),
    ])
  }
  return new Set([...put, ...renamed].map(nameOf)).size
}

function keysOf(keys: readonly MarketKey[]): [string, string[]] {
  return [arrayOf(keys.map(({ rank }) => rank)), keys.map(({ id }) => id)]
}

/** A statement can write an entry only once. Each round is sorted, so that processes do not deadlock. */
function roundsOf(markets: readonly EncodedMarket[]): MarketToWrite[][] {
  const rounds: MarketToWrite[][] = []
  const times = new Map<string, number>()
  for (const market of markets) {
    const key = { rank: SOURCES.indexOf(market.source), id: storable(market.marketId) }
    const round = times.get(nameOf(key)) ?? 0
    times.set(nameOf(key), round + 1)
    const identifiers = [...new Set(market.identifiers.map((id) => storable(id.toLowerCase())))]
    const list = rounds[round] ?? []
    rounds[round] = list
    list.push({ ...key, market, identifiers })
  }
  for (const round of rounds) round.sort((a, b) => a.rank - b.rank || compareText(a.id, b.id))
  return rounds
}
