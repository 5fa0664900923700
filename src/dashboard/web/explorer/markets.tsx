import { useEffect, useState } from 'preact/hooks'
import type { MarketType } from '../../../core/rows/market.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import { formatTimestamp, percent } from '../format.ts'
import { hashOf } from '../navigate.ts'
import { ApiCall } from '../ui/api-call.tsx'
import { Card, ChoiceButtons, Empty, Problem, Select } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Turn } from '../ui/turn.tsx'
import { useView } from '../use-view.ts'
import type { MarketRecord } from './opened-market.ts'
import { type Place, placePath } from './place.ts'
import { go, useAddress } from './use-place.ts'

interface PriceRow {
  market_id: string
  price_up?: number | null
  price_down?: number | null
  mid_price: number | null
  best_bid: number | null
  best_ask: number | null
}

interface PricePage {
  data: PriceRow[]
  meta: { next_cursor: string | null }
}

interface MarketPage {
  data: MarketRecord[]
  meta: { next_cursor: string | null }
}

const SOURCES = ['predmkt_a', 'predmkt_b'] as const
const ANY_LENGTH = 'any length'
const LENGTHS = [ANY_LENGTH, '5m', '15m', '1h', '4h', '24h'] as const satisfies (
  | MarketType
  | typeof ANY_LENGTH
)[]
const PER_PAGE = 25
const STEP_MS = 300_000

/** The current page of the list. It outlives the view, so that going back from a chart returns to it. */
export function useMarketPages() {
  const [opened, setOpened] = useState({ series: '', cursors: [] as string[] })
  return { opened, turn: (series: string, cursors: string[]) => setOpened({ series, cursors }) }
}

/** Open prediction markets, the next to end first, each with the price of its newest snapshot. */
export function Markets(props: {
  asked: Place
  place: Place
  symbol: AssetSymbol
  pages: ReturnType<typeof useMarketPages>
}) {
  const { asked, place, symbol, pages } = props
  const source = SOURCES.find((one) => one === place.source) ?? SOURCES[0]
  const length = LENGTHS.find((one) => one === place.length) ?? ANY_LENGTH
  const { environment: named } = place
  const ofLength = length === ANY_LENGTH ? undefined : length
  useAddress(asked, { tab: 'markets', environment: named, symbol, source, length: ofLength })
  const series = `source=${source}&symbol=${symbol}${length === ANY_LENGTH ? '' : `&market_type=${length}`}`
  const { opened, turn } = pages
  const cursors = opened.series === series ? opened.cursors : []
  // A list starts at its first page, also when the reader comes back to it after another one.
  useEffect(() => {
    if (opened.series !== series) turn(series, [])
  }, [series])
  const cursor = cursors.at(-1)
  const path = `/v1/markets?${series}&active=true&order=asc&limit=${PER_PAGE}${cursor === undefined ? '' : `&after=${cursor}`}`
  const list = useView<MarketPage>(path, 15_000)
  const pricesPath = `/v1/snapshots?${series}&interval=5m&start=${recordedSince()}&order=desc&limit=1000`
  const prices = useView<PricePage>(pricesPath, 3_000, series)
  const page = list.value
  const newest = newestOf(prices.value?.data ?? [])
  const isCut = prices.value !== undefined && prices.value.meta.next_cursor !== null
  const without = prices.value === undefined ? '…' : isCut ? 'not shown' : 'no price now'
  return (
    <>
      <Card
        title={`Open markets on ${symbol}`}
        aside={
          <div class="row">
            <Select
              label="Length"
              value={length}
              options={LENGTHS}
              onChange={(next) => go({ length: next === ANY_LENGTH ? undefined : next })}
            />
            <ChoiceButtons
              label="Venue"
              value={source}
              options={SOURCES}
              onChange={(next) => go({ source: next, market: undefined })}
            />
          </div>
        }
        class="flush"
      >
        <Problem text={list.error ?? prices.error} />
        {page?.data.length === 0 && cursor === undefined ? (
          <Empty>
            <strong>No open market</strong>
            <p class="muted">This environment records none of this kind right now.</p>
          </Empty>
        ) : (
          <Table
            columns={columnsOf(newest, without, named)}
            rows={page?.data ?? []}
            idOf={(row) => row.market_id}
            testId="markets"
          />
        )}
        {isCut && (
          <footer class="muted tiny">
            Prices are those of the newest {prices.value?.data.length} rows, as many as a call of this plan
            has.
            {length === ANY_LENGTH && ' Choose a length to see more of them.'}
          </footer>
        )}
        <Turn
          before={cursors}
          next={page?.meta.next_cursor}
          names={['Previous', 'Next']}
          text={`Page ${cursors.length + 1}, the next to end first`}
          onTurn={(next) => turn(series, next)}
        />
      </Card>
      <ApiCall path={path} price={list.price} />
      <ApiCall path={pricesPath} price={prices.price} />
    </>
  )
}

/**
 * Sampled at 5 minutes, one call returns the newest snapshot of every market. A book that does not change is recorded
 * once a minute, so a market without a row in the last two steps has no current price.
 */
function recordedSince(): string {
  return new Date((Math.floor(Date.now() / STEP_MS) - 1) * STEP_MS).toISOString()
}

function newestOf(rows: readonly PriceRow[]): Map<string, PriceRow> {
  const newest = new Map<string, PriceRow>()
  for (const row of rows) if (!newest.has(row.market_id)) newest.set(row.market_id, row)
  return newest
}

/** @param without shown for a market without a loaded row */
function columnsOf(
  newest: Map<string, PriceRow>,
  without: string,
  environment: Place['environment'],
): Column<MarketRecord>[] {
  return [
    {
      title: 'Question',
      cell: ({ question, slug, ticker }) => (
        <>
          {question ?? ticker}
          <div class="muted tiny break">{slug ?? ticker}</div>
        </>
      ),
    },
    { title: 'Length', cell: (row) => row.market_type },
    {
      title: 'Ends (UTC)',
      label: 'Ends',
      class: 'nowrap',
      cell: (row) => formatTimestamp(row.end_time),
    },
    {
      title: 'Up / Down',
      cell: (row) => <Odds row={newest.get(row.market_id)} without={without} begins={row.start_time} />,
    },
    {
      cell: ({ symbol, source, market_id: market }) =>
        (['candles', 'books'] as const).map((tab) => (
          <a
            key={tab}
            class="button small"
            href={hashOf(placePath({ tab, environment, symbol, source, market }))}
          >
            {tab === 'candles' ? 'Chart' : 'Book'}
          </a>
        )),
    },
  ]
}

function Odds({
  row,
  without,
  begins,
}: {
  row: PriceRow | undefined
  without: string
  begins: string | null
}) {
  // A book with only one side still has a price: that of the remaining side.
  const up = row?.price_up ?? row?.mid_price ?? row?.best_bid ?? row?.best_ask ?? null
  if (up === null) {
    const isAhead = Date.parse(begins ?? '') > Date.now()
    const reason = row === undefined ? without : 'no price now'
    return <span class="muted">{isAhead ? `begins ${formatTimestamp(begins)}` : reason}</span>
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
