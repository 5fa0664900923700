import { useEffect, useRef, useState } from 'preact/hooks'
import { type AssetSymbol, SYMBOLS } from '../../../core/symbol.ts'
import { Page, Select } from '../ui/parts.tsx'
import { Books } from './books.tsx'
import { Candles } from './candles.tsx'
import { Events } from './events.tsx'
import { Markets, useMarketList } from './markets.tsx'
import { sourceOf } from './paths.ts'

const TABS = [
  ['candles', 'Candles'],
  ['books', 'Order book'],
  ['markets', 'Prediction markets'],
  ['events', 'Live events'],
] as const

/** `explorer/books?source=predmkt_a&market=0x…` opens a view on one market. */
export function Explorer({ path }: { path: string }) {
  const [place = '', search = ''] = path.split('?')
  const tab = TABS.find(([name]) => name === place.split('/')[1])?.[0] ?? 'candles'
  const [symbol, setSymbol] = useState<AssetSymbol>('BTC')
  const markets = useMarketList(symbol)
  const tabs = useRef<HTMLElement>(null)
  // On a phone the tabs are wider than the screen.
  useEffect(() => {
    tabs.current?.querySelector(`[href$="/${tab}"]`)?.scrollIntoView({ inline: 'center', block: 'nearest' })
  }, [tab])
  const asked = new URLSearchParams(search)
  const opened = { symbol, source: sourceOf(asked.get('source')), market: asked.get('market') }
  return (
    <Page
      title="Explorer"
      lead="The data itself, as your keys get it. Looking is free; the price is what a key would pay."
      actions={
        tab !== 'events' && <Select label="Symbol" value={symbol} options={SYMBOLS} onChange={setSymbol} />
      }
    >
      <nav class="tabs" aria-label="Explorer" ref={tabs}>
        {TABS.map(([name, label]) => (
          <a key={name} href={`#/explorer/${name}`} aria-current={name === tab ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
      {tab === 'candles' && <Candles key={search} {...opened} />}
      {tab === 'books' && <Books key={search} {...opened} />}
      {tab === 'markets' && <Markets symbol={symbol} list={markets} />}
      {tab === 'events' && <Events />}
    </Page>
  )
}
