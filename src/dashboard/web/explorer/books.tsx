import { dateTime, duration, plural, price as priceText } from '../format.ts'
import { useSession } from '../session.ts'
import { ApiCall } from '../ui/api-call.tsx'
import { useIdle } from '../ui/idle-note.tsx'
import { Badge, Card, ChoiceButtons, Empty, Problem, Select, Stat } from '../ui/parts.tsx'
import { useView } from '../use-view.ts'
import { BookClock, type BookTime, useBookTime } from './book-time.tsx'
import { type LadderBook, Ladders } from './ladders.tsx'
import { MarketSelect, stageOf, useMarkets } from './market-select.tsx'
import type { MarketRecord, MarketTabProps } from './opened-market.ts'
import { BOOK_SOURCES } from './paths.ts'
import { go, useAddress, useNoteTime } from './use-place.ts'

interface Snapshot {
  timestamp: string
  question?: string | null
  market_id: string | null
  mid_price: number | null
  spread: number | null
  imbalance: number | null
  bids?: LadderBook['bids']
  asks?: LadderBook['asks']
  orderbook_up?: LadderBook
  orderbook_down?: LadderBook
  orderbook_yes?: LadderBook
  orderbook_no?: LadderBook
}

type BookSource = (typeof BOOK_SOURCES)[number]
const SIDES = { perpdex: [], predmkt_a: ['Up', 'Down'], predmkt_b: ['Yes', 'No'] } as const
/** A book older than this at the requested moment is not shown. */
const FRESH_MS = 5_000
const LAST_LOOK_MS = 1_000

/** The book of any source that has one, at any recorded moment. */
export function Books({ asked, place, symbol, opened }: MarketTabProps) {
  const { environment } = useSession()
  const source: BookSource = BOOK_SOURCES.find((one) => one === place.source) ?? 'perpdex'
  const isPrediction = source !== 'perpdex'
  const { markets } = useMarkets(source, symbol)
  const market = isPrediction ? opened : undefined
  const series = `source=${source}&symbol=${symbol}${market === undefined ? '' : `&market_id=${market.market_id}`}`
  const time = useBookTime(environment, series, {
    start: asked.time ?? lastLookOf(market),
    onRest: useNoteTime(asked),
  })
  const books = isPrediction ? '&include_orderbook=true' : ''
  const path = `/v1/snapshots/at?${series}&time=${new Date(time.at).toISOString()}${books}`
  // Nothing exists before the first recorded moment.
  const isRecorded = typeof time.earliest === 'number'
  const { value, price, error } = useView<{ data: Snapshot | null }>(isRecorded ? path : undefined, 0, series)
  const row = time.earliest === null ? null : value?.data
  const sides: readonly string[] = SIDES[source]
  const side = sides.find((one) => one === place.outcome) ?? sides[0] ?? ''
  useAddress(asked, {
    ...place,
    source,
    interval: undefined,
    market: market?.market_id,
    outcome: side || undefined,
  })
  return (
    <>
      <Card
        title={`${symbol} · ${source}`}
        aside={
          <Select
            label="Source"
            value={source}
            options={BOOK_SOURCES}
            onChange={(next) => go({ source: next, market: undefined, outcome: undefined })}
          />
        }
      >
        {isPrediction && (
          <div class="row">
            <MarketSelect
              markets={markets ?? []}
              opened={market}
              none="The shortest market of that moment"
              canBeNone
              onChange={(next) => go({ market: next?.market_id, time: undefined })}
            />
            <ChoiceButtons
              label="Side"
              value={side}
              options={sides}
              onChange={(outcome) => go({ outcome })}
            />
          </div>
        )}
        <BookClock time={time} />
        <Problem text={time.problem ?? error} />
        <div class="book-frame">
          {row ? (
            <BookBody row={row} side={side} at={time.at} market={market} />
          ) : (
            row === null && <NoBook market={market} time={time} />
          )}
        </div>
      </Card>
      <ApiCall path={path} price={price} />
    </>
  )
}

/** For a market that has ended, the moment shortly before its end. */
function lastLookOf(market: MarketRecord | undefined): number | undefined {
  const end = Date.parse(market?.end_time ?? '')
  return end <= Date.now() ? end - LAST_LOOK_MS : undefined
}

function NoBook({ market, time }: { market: MarketRecord | undefined; time: BookTime }) {
  const isIdle = useIdle('market') !== null && market === undefined
  return (
    <Empty>
      <strong>No book was recorded at that moment</strong>
      <p class="muted">
        {time.earliest !== null
          ? 'Move the slider, or choose another market.'
          : isIdle
            ? 'Nothing is recorded in this environment.'
            : whyNever(market)}
      </p>
    </Empty>
  )
}

function whyNever(market: MarketRecord | undefined): string {
  if (market === undefined)
    return 'This source has no books yet. They appear as soon as the recorder has some.'
  if (stageOf(market) !== 'Upcoming') return 'No book of this market was recorded.'
  return `The window of this market begins ${dateTime(market.start_time)} UTC. Its book appears as soon as one is recorded.`
}

function BookBody(props: { row: Snapshot; side: string; at: number; market: MarketRecord | undefined }) {
  const { row, side, at, market } = props
  const book = bookOf(row, side)
  const best = [book.bids[0]?.[0], book.asks[0]?.[0]] as const
  const mid = best[0] === undefined || best[1] === undefined ? null : (best[0] + best[1]) / 2
  const spread = mid === null ? null : (best[1] ?? 0) - (best[0] ?? 0)
  const depth = (levels: LadderBook['bids']) => levels.reduce((sum, [, size]) => sum + size, 0)
  const [bid, ask] = [depth(book.bids), depth(book.asks)]
  const lateMs = at - Date.parse(row.timestamp)
  return (
    <>
      <div class="row between book-line">
        <span>
          <code data-testid="book-time">
            {row.timestamp.slice(0, 10)} {row.timestamp.slice(11, 23)}
          </code>{' '}
          <span class="muted">
            UTC{row.market_id === null ? '' : ` · ${row.question ?? market?.question ?? row.market_id}`}
          </span>
        </span>
        <span class={lateMs > FRESH_MS ? '' : 'kept-free'} aria-hidden={lateMs <= FRESH_MS}>
          <Badge tone="warn">no newer book: {duration(lateMs / 1000)} old</Badge>
        </span>
      </div>
      <div class="stats three">
        <Stat label="Mid" value={mid === null ? '–' : priceText(mid)} note={'\u00a0'} />
        <Stat
          label="Spread"
          value={spread === null ? '–' : priceText(Number(spread.toPrecision(4)))}
          note={
            spread === null || !mid || side !== '' ? '\u00a0' : `${((spread / mid) * 10_000).toFixed(2)} bp`
          }
        />
        <Stat
          label="Bid share"
          value={bid + ask === 0 ? '–' : `${Math.round((bid / (bid + ask)) * 100)}%`}
          note={`of ${plural(book.bids.length, 'bid')}, ${plural(book.asks.length, 'ask')}`}
        />
      </div>
      <Ladders book={book} />
    </>
  )
}

const NO_BOOK: LadderBook = { bids: [], asks: [] }

function bookOf(row: Snapshot, side: string): LadderBook {
  const named = {
    Up: row.orderbook_up,
    Down: row.orderbook_down,
    Yes: row.orderbook_yes,
    No: row.orderbook_no,
  }
  return named[side as keyof typeof named] ?? { ...NO_BOOK, bids: row.bids ?? [], asks: row.asks ?? [] }
}
