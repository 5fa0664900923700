import { useState } from 'preact/hooks'
import { Page, Select } from '../ui/parts.tsx'
import { Books } from './books.tsx'
import { Candles } from './candles.tsx'
import { Events } from './events.tsx'
import { Markets } from './markets.tsx'

const TABS = [
  ['candles', 'Candles'],
  ['books', 'Order book'],
  ['markets', 'Prediction markets'],
  ['events', 'Live events'],
] as const

export const SYMBOLS = ['BTC', 'ETH', 'SOL', 'XRP'] as const
export type SymbolName = (typeof SYMBOLS)[number]

export function Explorer({ path }: { path: string }) {
  const tab = TABS.find(([name]) => name === path.split('/')[1])?.[0] ?? 'candles'
  const [symbol, setSymbol] = useState<SymbolName>('BTC')
  return (
    <Page
      title="Explorer"
      lead="The data itself, as your keys get it. Looking is free; the price is what a key would pay."
      actions={
        tab !== 'events' && <Select label="Symbol" value={symbol} options={SYMBOLS} onChange={setSymbol} />
      }
    >
      <nav class="tabs" aria-label="Explorer">
        {TABS.map(([name, label]) => (
          <a key={name} href={`#/explorer/${name}`} aria-current={name === tab ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
      {tab === 'candles' && <Candles symbol={symbol} />}
      {tab === 'books' && <Books symbol={symbol} />}
      {tab === 'markets' && <Markets symbol={symbol} />}
      {tab === 'events' && <Events />}
    </Page>
  )
}
