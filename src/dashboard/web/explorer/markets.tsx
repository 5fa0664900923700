import { useState } from 'preact/hooks'
import type { AssetSymbol } from '../../../core/symbol.ts'
import { view } from '../api.ts'
import { percent, time } from '../format.ts'
import { useLoad } from '../load.ts'
import { useSession } from '../session.ts'
import { ApiCall } from '../ui/api-call.tsx'
import { Card, Choice, Empty, Problem } from '../ui/parts.tsx'
import type { Market } from './market-select.tsx'

interface PriceRow {
  market_id: string
  price_up?: number | null
  price_down?: number | null
  yes_bid?: number | null
  yes_ask?: number | null
  mid_price: number | null
  best_bid: number | null
  best_ask: number | null
}

const SOURCES = ['predmkt_a', 'predmkt_b'] as const

/** Open prediction markets with their newest prices. */
export function Markets({ symbol }: { symbol: AssetSymbol }) {
  const { environment } = useSession()
  const [source, setSource] = useState<(typeof SOURCES)[number]>('predmkt_a')
  const path = `/v1/markets?source=${source}&symbol=${symbol}&active=true&limit=50`
  const pricePath = `/v1/snapshots?source=${source}&symbol=${symbol}&limit=100`
  const list = useLoad(() => view<{ data: Market[] }>(environment, path), [environment, path], 15_000)
  const prices = useLoad(
    () => view<{ data: PriceRow[] }>(environment, pricePath),
    [environment, pricePath],
    3_000,
  )
  const newest = new Map<string, PriceRow>()
  for (const row of prices.value?.value.data ?? [])
    if (!newest.has(row.market_id)) newest.set(row.market_id, row)
  const rows =
    list.value?.value.data.toSorted((a, b) => (a.end_time ?? '').localeCompare(b.end_time ?? '')) ?? []
  return (
    <>
      <Card
        title={`Open markets on ${symbol}`}
        aside={<Choice label="Venue" value={source} options={SOURCES} onChange={setSource} />}
        class="flush"
      >
        <Problem text={list.error ?? prices.error} />
        {list.value && rows.length === 0 ? (
          <Empty>
            <strong>No open market</strong>
            <p class="muted">This environment records none of this venue right now.</p>
          </Empty>
        ) : (
          <table class="stack">
            <thead>
              <tr>
                <th>Question</th>
                <th>Length</th>
                <th>Ends (UTC)</th>
                <th>Up / Down</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.market_id}>
                  <td data-label="Question">
                    {row.question ?? row.ticker}
                    <div class="muted tiny break">{row.slug ?? row.ticker}</div>
                  </td>
                  <td data-label="Length">{row.market_type}</td>
                  <td data-label="Ends" class="nowrap">
                    {time(row.end_time)}
                  </td>
                  <td data-label="Up / Down">
                    <Odds row={newest.get(row.market_id)} begins={row.start_time} />
                  </td>
                  <td class="actions">
                    {(['candles', 'books'] as const).map((tab) => (
                      <a
                        key={tab}
                        class="button small"
                        href={`#/explorer/${tab}?source=${source}&market=${row.market_id}`}
                      >
                        {tab === 'candles' ? 'Chart' : 'Book'}
                      </a>
                    ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Card>
      <ApiCall path={path} price={list.value?.price} />
      <ApiCall path={pricePath} price={prices.value?.price} />
    </>
  )
}

function Odds({ row, begins }: { row: PriceRow | undefined; begins: string | null }) {
  // A book with one side only still has a price: the side that is left.
  const up = row?.price_up ?? row?.mid_price ?? row?.best_bid ?? row?.best_ask ?? null
  if (up === null) {
    const isAhead = Date.parse(begins ?? '') > Date.now()
    return <span class="muted">{isAhead ? `begins ${time(begins)}` : 'no price yet'}</span>
  }
  const down = row?.price_down ?? 1 - up
  return (
    <div class="odds">
      <span class="up">{percent(up)}</span>
      <meter min={0} max={1} value={up} aria-label={`Up ${percent(up)}`} />
      <span class="down">{percent(down)}</span>
    </div>
  )
}
