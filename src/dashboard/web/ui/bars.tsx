import { compact, day } from '../format.ts'

export interface BarDay {
  day: string
  parts: { name: string; value: number }[]
}

const WIDE = 720
const NARROW = 340
const LABEL_WIDTH = 84
const HEIGHT = 200
const LEFT = 44
const BOTTOM = 22
/** Half the height of a label. */
const TOP = 9

/** Stacked bars by day. Each part has the colour of its position in `names`. */
export function DayChart(props: { days: BarDay[]; names: string[]; label: string; tone?: number }) {
  const { days, names, label, tone = 0 } = props
  const width = innerWidth < 700 ? NARROW : WIDE
  const totals = days.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0))
  const most = niceTop(Math.max(1, ...totals))
  const step = (width - LEFT) / Math.max(1, days.length)
  const y = (value: number) => TOP + (HEIGHT - BOTTOM - TOP) * (1 - value / most)
  return (
    <svg class="bars" viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={label}>
      {[0, 0.5, 1].map((share) => (
        <g key={share}>
          <line class="grid" x1={LEFT} x2={width} y1={y(most * share)} y2={y(most * share)} />
          <text x={LEFT - 8} y={y(most * share) + 4} text-anchor="end">
            {compact(most * share)}
          </text>
        </g>
      ))}
      {days.map(({ day: date, parts }, index) => {
        let below = 0
        return (
          <g key={date}>
            <title>{`${day(date)}: ${compact(totals[index] ?? 0)}`}</title>
            <rect class="hover" x={LEFT + index * step} y={0} width={step} height={HEIGHT - BOTTOM} />
            {parts.map(({ name, value }) => {
              const top = y(below + value)
              const height = y(below) - top
              below += value
              return (
                <rect
                  key={name}
                  class={`tone-${(tone + names.indexOf(name)) % 6}`}
                  x={LEFT + index * step + step * 0.16}
                  y={top}
                  width={step * 0.68}
                  height={Math.max(0, height)}
                  rx={1.5}
                />
              )
            })}
            {index % Math.ceil(days.length / Math.floor(width / LABEL_WIDTH)) === 0 && (
              <text x={LEFT + (index + 0.5) * step} y={HEIGHT - 4} text-anchor="middle">
                {day(date)}
              </text>
            )}
          </g>
        )
      })}
    </svg>
  )
}

function niceTop(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value))
  const top = [1, 2, 4, 5, 10].find((factor) => factor * unit >= value) ?? 10
  return top * unit
}
