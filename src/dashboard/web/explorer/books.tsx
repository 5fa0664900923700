import { useEffect, useState } from 'preact/hooks'
import { view } from '../api.ts'
import { useLoad } from '../load.ts'
import { useSession } from '../session.ts'
import { ApiCall } from '../ui/api-call.tsx'
import { Card, Empty, Problem, Stat } from '../ui/parts.tsx'
import type { SymbolName } from './explorer.tsx'

type Level = [number, number]
interface Snapshot {
  timestamp: string
  best_bid: number | null
  best_ask: number | null
  mid_price: number | null
  spread: number | null
  imbalance: number | null
  bids?: Level[]
  asks?: Level[]
}

const REACH_S = 900
const SETTLE_MS = 60
const LEVELS = 12

/** The book of the perpetual exchange at any moment of the last quarter of an hour. */
export function Books({ symbol }: { symbol: SymbolName }) {
  const { environment } = useSession()
  const [back, setBack] = useState(5)
  const [now, setNow] = useState(Date.now)
  const [settled, setSettled] = useState(back)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(back), SETTLE_MS)
    return () => clearTimeout(timer)
  }, [back])
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 2_000)
    return () => clearInterval(timer)
  }, [])
  const time = new Date(Math.floor((now - settled * 1000) / 500) * 500).toISOString()
  const path = `/v1/snapshots/at?source=perpdex&symbol=${symbol}&time=${time}`
  const { value, error } = useLoad(
    () => view<{ data: Snapshot | null }>(environment, path),
    [environment, path],
  )
  const row = value?.value.data
  return (
    <>
      <Card title={`${symbol} · perpdex`} aside={<code>{row ? row.timestamp.slice(11, 23) : '–'} UTC</code>}>
        <label class="slider">
          <span class="muted">15 min ago</span>
          <input
            type="range"
            min={-REACH_S}
            max={0}
            step={1}
            value={-back}
            aria-label="Time of the book"
            aria-valuetext={`${back} seconds ago`}
            onInput={(event) => setBack(-Number(event.currentTarget.value))}
          />
          <span class="muted">{back === 0 ? 'now' : `${back} s ago`}</span>
        </label>
        <Problem text={error} />
        {value && !row && <Empty>No book was recorded at that time.</Empty>}
        {row && (
          <>
            <div class="stats">
              <Stat label="Mid" value={row.mid_price ?? '–'} />
              <Stat label="Spread" value={row.spread === null ? '–' : Number(row.spread.toPrecision(4))} />
              <Stat
                label="Bid share"
                value={row.imbalance === null ? '–' : `${Math.round(row.imbalance * 100)}%`}
              />
            </div>
            <div class="book">
              <Ladder levels={row.bids ?? []} side="bid" />
              <Ladder levels={row.asks ?? []} side="ask" />
            </div>
          </>
        )}
      </Card>
      <ApiCall path={path} price={value?.price} />
    </>
  )
}

function Ladder({ levels, side }: { levels: readonly Level[]; side: 'bid' | 'ask' }) {
  const shown = levels.slice(0, LEVELS)
  let sum = 0
  const rows = shown.map(([price, size]) => {
    sum += size
    return { price, size, sum }
  })
  return (
    <table class={`ladder ${side}`}>
      <thead>
        <tr>
          <th class="number">{side === 'bid' ? 'Bid' : 'Ask'}</th>
          <th class="number">Size</th>
          <th class="number">Total</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.price} style={{ '--share': `${(row.sum / (sum || 1)) * 100}%` }}>
            <td class="number">{row.price}</td>
            <td class="number">{row.size}</td>
            <td class="number">{Number(row.sum.toPrecision(6))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
