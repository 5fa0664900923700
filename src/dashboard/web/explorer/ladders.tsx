import { chartDecimals } from '../format.ts'

type Level = [price: number, size: number]
export interface LadderBook {
  bids: Level[]
  asks: Level[]
}

const LEVELS = 20
const SIZE_DIGITS = 6

/** Both sides from the middle outwards. The bars show the amount that can be traded up to that price. */
export function Ladders({ book }: { book: LadderBook }) {
  const sides = [sumUp(book.bids), sumUp(book.asks)] as const
  const most = Math.max(0, ...sides.map((rows) => rows.at(-1)?.sum ?? 0)) || 1
  const all = [...book.bids.slice(0, LEVELS), ...book.asks.slice(0, LEVELS)]
  const priceDecimals = Math.max(
    0,
    ...all.map(([price]) => (Number.isInteger(price) ? 0 : chartDecimals(price))),
  )
  const sizeDecimals = Math.min(
    5,
    Math.max(0, ...all.map(([, size]) => (Number.isInteger(size) ? 0 : chartDecimals(size)))),
  )
  return (
    <div class="book">
      {(['bid', 'ask'] as const).map((side, index) => (
        <table key={side} class={`ladder ${side}`} aria-label={side === 'bid' ? 'Bids' : 'Asks'}>
          <thead>
            <tr>
              {inOrder(side, ['Price', 'Size', 'Total']).map((name) => (
                <th key={name} class={name}>
                  {name === 'Price' ? label[side] : name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sides[index]?.map((row) => (
              <tr key={row.price} style={{ '--share': `${(row.sum / most) * 100}%` }}>
                {inOrder(side, [
                  <td key="price" class="Price">
                    {row.price.toLocaleString('en-US', fixed(priceDecimals))}
                  </td>,
                  <td key="size" class="Size">
                    {row.size.toLocaleString('en-US', fixed(sizeDecimals))}
                  </td>,
                  <td key="total" class="Total">
                    {row.sum.toLocaleString('en-US', fixed(sizeDecimals))}
                  </td>,
                ])}
              </tr>
            ))}
            {emptyRows(sides[index]?.length ?? 0).map((row) => (
              <tr key={`empty ${row}`} class="empty-level">
                <td colSpan={3}>{row === 0 ? NOBODY[side] : '\u00a0'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ))}
    </div>
  )
}

const label = { bid: 'Bid', ask: 'Ask' }
const NOBODY = { bid: 'nobody buys', ask: 'nobody sells' }

/** A live book gains and loses levels all the time, so missing rows stay empty to keep the layout stable. */
function emptyRows(filled: number): number[] {
  return Array.from({ length: LEVELS - filled }, (_, index) => filled + index)
}

/** The prices of both sides meet in the middle. */
function inOrder<T>(side: 'bid' | 'ask', cells: T[]): T[] {
  return side === 'bid' ? cells.toReversed() : cells
}

function sumUp(levels: readonly Level[]) {
  let sum = 0
  return levels.slice(0, LEVELS).map(([price, size]) => {
    sum = Number((sum + size).toPrecision(SIZE_DIGITS + 6))
    return { price, size, sum }
  })
}

const fixed = (decimals: number) => ({ minimumFractionDigits: decimals, maximumFractionDigits: decimals })
