import { useState } from 'preact/hooks'
import type { AssetSymbol } from '../../../core/symbol.ts'
import { view } from '../api.ts'
import { duration, price } from '../format.ts'
import { useLoad } from '../load.ts'
import { useSession } from '../session.ts'
import { ApiCall } from '../ui/api-call.tsx'
import { Badge, Card, Choice, Empty, Problem, Select, Stat } from '../ui/parts.tsx'
import { BookClock, useBookTime } from './book-time.tsx'
import { type Book, Ladders } from './ladders.tsx'
import { MarketSelect, useMarkets } from './market-select.tsx'
import { BOOK_SOURCES } from './paths.ts'

interface Snapshot {
  timestamp: string
  question?: string | null
  market_id: string | null
  mid_price: number | null
  spread: number | null
  imbalance: number | null
  bids?: Book['bids']
  asks?: Book['asks']
  orderbook_up?: Book
  orderbook_down?: Book
  orderbook_yes?: Book
  orderbook_no?: Book
}

type BookSource = (typeof BOOK_SOURCES)[number]
const SIDES = { perpdex: [], predmkt_a: ['Up', 'Down'], predmkt_b: ['Yes', 'No'] } as const
/** A book that is older than this at the asked moment is no picture of it. */
const FRESH_MS = 5_000
/** A market that has ended is shown as it was shortly before. */
const LAST_LOOK_MS = 1_000

/** The book of any source that has one, at any recorded moment. */
export function Books(props: { symbol: AssetSymbol; source?: string | undefined; market?: string | null }) {
  const { symbol } = props
  const { environment } = useSession()
  const [source, setSource] = useState<BookSource>(
    BOOK_SOURCES.find((one) => one === props.source) ?? 'perpdex',
  )
  const [marketId, setMarketId] = useState(props.market ?? '')
  const [side, setSide] = useState('')
  const { markets } = useMarkets(source, symbol)
  const known = source !== 'perpdex' && markets?.some((one) => one.market_id === marketId) ? marketId : ''
  const series = `source=${source}&symbol=${symbol}${known && `&market_id=${known}`}`
  const time = useBookTime(environment, series)
  const books = source === 'perpdex' ? '' : '&include_orderbook=true'
  const path = `/v1/snapshots/at?${series}&time=${new Date(time.at).toISOString()}${books}`
  // What lies before the first recorded moment need not be asked for.
  const isRecorded = typeof time.earliest === 'number'
  const { value, error } = useLoad(
    async () =>
      isRecorded ? { series, ...(await view<{ data: Snapshot | null }>(environment, path)) } : undefined,
    [environment, isRecorded && path],
  )
  const row = time.earliest === null ? null : value?.series === series ? value.value.data : undefined
  const sides: readonly string[] = SIDES[source]
  const shownSide = sides.includes(side) ? side : (sides[0] ?? '')
  const pickSource = (next: BookSource) => {
    setSource(next)
    setMarketId('')
  }
  const pickMarket = (id: string) => {
    setMarketId(id)
    const end = Date.parse(markets?.find((one) => one.market_id === id)?.end_time ?? '')
    if (end <= Date.now()) time.go(end - LAST_LOOK_MS)
  }
  return (
    <>
      <Card
        title={`${symbol} · ${source}`}
        aside={<Select label="Source" value={source} options={BOOK_SOURCES} onChange={pickSource} />}
      >
        {sides.length > 0 && (
          <div class="row">
            <MarketSelect
              markets={markets ?? []}
              value={known}
              none="The shortest market of that moment"
              onChange={pickMarket}
            />
            <Choice label="Side" value={shownSide} options={sides} onChange={setSide} />
          </div>
        )}
        <BookClock time={time} />
        <Problem text={time.problem ?? error} />
        {row ? (
          <BookBody row={row} side={shownSide} at={time.at} />
        ) : (
          row === null && (
            <Empty>
              <strong>No book was recorded at that moment</strong>
              <p class="muted">
                {time.earliest === null
                  ? 'This source has no books yet. They appear as soon as the recorder has some.'
                  : 'Move the slider, or choose another market.'}
              </p>
            </Empty>
          )
        )}
      </Card>
      <ApiCall path={path} price={value?.price} />
    </>
  )
}

function BookBody({ row, side, at }: { row: Snapshot; side: string; at: number }) {
  const book = bookOf(row, side)
  const best = [book.bids[0]?.[0], book.asks[0]?.[0]] as const
  const mid = best[0] === undefined || best[1] === undefined ? null : (best[0] + best[1]) / 2
  const spread = mid === null ? null : (best[1] ?? 0) - (best[0] ?? 0)
  const depth = (levels: Book['bids']) => levels.reduce((sum, [, size]) => sum + size, 0)
  const [bid, ask] = [depth(book.bids), depth(book.asks)]
  const lateMs = at - Date.parse(row.timestamp)
  return (
    <>
      <div class="row between">
        <span>
          <code data-testid="book-time">
            {row.timestamp.slice(0, 10)} {row.timestamp.slice(11, 23)}
          </code>{' '}
          <span class="muted">UTC{row.market_id === null ? '' : ` · ${row.question ?? row.market_id}`}</span>
        </span>
        {lateMs > FRESH_MS && <Badge tone="warn">no newer book: {duration(lateMs / 1000)} old</Badge>}
      </div>
      <div class="stats three">
        <Stat label="Mid" value={mid === null ? '–' : price(mid)} />
        <Stat
          label="Spread"
          value={spread === null ? '–' : price(Number(spread.toPrecision(4)))}
          note={
            spread === null || !mid || side !== '' ? undefined : `${((spread / mid) * 10_000).toFixed(2)} bp`
          }
        />
        <Stat
          label="Bid share"
          value={bid + ask === 0 ? '–' : `${Math.round((bid / (bid + ask)) * 100)}%`}
          note={`of ${book.bids.length} + ${book.asks.length} levels`}
        />
      </div>
      <Ladders book={book} />
    </>
  )
}

const NO_BOOK: Book = { bids: [], asks: [] }

function bookOf(row: Snapshot, side: string): Book {
  const named = {
    Up: row.orderbook_up,
    Down: row.orderbook_down,
    Yes: row.orderbook_yes,
    No: row.orderbook_no,
  }
  return named[side as keyof typeof named] ?? { ...NO_BOOK, bids: row.bids ?? [], asks: row.asks ?? [] }
}
