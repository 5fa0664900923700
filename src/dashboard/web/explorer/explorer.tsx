import { useEffect, useRef } from 'preact/hooks'
import { type AssetSymbol, SYMBOLS } from '../../../core/symbol.ts'
import { hashOf } from '../navigate.ts'
import { useSession } from '../session.ts'
import { IdleNote } from '../ui/idle-note.tsx'
import { Card, Empty, PageFrame, Problem, Select } from '../ui/parts.tsx'
import { Allowance } from './allowance.tsx'
import { Books } from './books.tsx'
import { CandlesTab } from './candles.tsx'
import { Events } from './events.tsx'
import { Markets, useMarketPages } from './markets.tsx'
import { type OpenedMarket, useOpenedMarket } from './opened-market.ts'
import { FIRST_CHART } from './paths.ts'
import { type Place, placePath, readPlace, TABS, type Tab } from './place.ts'
import { go } from './use-place.ts'

const TAB_NAMES: Record<Tab, string> = {
  candles: 'Candles',
  books: 'Order book',
  markets: 'Prediction markets',
  events: 'Live events',
}

export function Explorer({ path }: { path: string }) {
  const asked = readPlace(path)
  const { tab } = asked
  const { session, environment } = useSession()
  const opened = useOpenedMarket(asked)
  const pages = useMarketPages()
  const tabs = useRef<HTMLElement>(null)
  // On a phone the tabs are wider than the screen.
  useEffect(() => {
    tabs.current?.querySelector('[aria-current]')?.scrollIntoView({ inline: 'center', block: 'nearest' })
  }, [tab])
  const market = opened?.market
  // A market has one symbol, whatever else is in the address.
  const symbol: AssetSymbol = market?.symbol ?? asked.symbol ?? FIRST_CHART.symbol
  const place: Place = {
    ...asked,
    symbol,
    source: market?.source ?? asked.source,
    environment: session.environments.length > 1 ? environment : undefined,
  }
  const view = { asked, place, symbol }
  return (
    <PageFrame
      title="Explorer"
      lead="The data itself, as your keys get it. The price is what a key would pay."
      actions={
        tab !== 'events' && (
          <Select
            label="Symbol"
            value={symbol}
            options={SYMBOLS}
            onChange={(next) => go({ symbol: next, market: undefined })}
          />
        )
      }
    >
      <nav class="tabs" aria-label="Explorer" ref={tabs}>
        {TABS.map((name) => (
          <a key={name} href={hashOf(tabPath(place, name))} aria-current={name === tab ? 'page' : undefined}>
            {TAB_NAMES[name]}
          </a>
        ))}
      </nav>
      <IdleNote part={tab === 'events' ? 'chain' : 'market'} />
      <Allowance />
      {(tab === 'candles' || tab === 'books') &&
        (opened !== undefined && market === undefined ? (
          <MarketDoor opened={opened} />
        ) : tab === 'candles' ? (
          <CandlesTab {...view} opened={market} />
        ) : (
          <Books {...view} opened={market} />
        ))}
      {tab === 'markets' && <Markets {...view} pages={pages} />}
      {tab === 'events' && <Events />}
    </PageFrame>
  )
}

/** While the market of the address loads or is unknown, no other market is shown in its place. */
function MarketDoor({ opened }: { opened: OpenedMarket }) {
  return (
    <Card title="Prediction market">
      <Problem text={opened.problem} />
      <Empty>
        {opened.problem === undefined ? (
          <p class="muted">Opening the market…</p>
        ) : (
          <>
            <strong>This market cannot be shown</strong>
            <p class="muted">
              <a href={hashOf(placePath({ tab: 'markets' }))}>See the open markets</a>
            </p>
          </>
        )}
      </Empty>
    </Card>
  )
}

/** The same symbol, source and market in another tab. */
function tabPath({ environment, symbol, source, market, outcome }: Place, tab: Tab): string {
  return placePath(
    tab === 'events' ? { tab, environment } : { tab, environment, symbol, source, market, outcome },
  )
}
