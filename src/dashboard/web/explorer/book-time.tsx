import { useEffect, useRef, useState } from 'preact/hooks'
import type { EnvironmentName } from '../../wire.ts'
import { CallError, view } from '../api.ts'
import { dateTime, formatTimestamp as shortTime } from '../format.ts'
import { useLoad } from '../load.ts'
import { Button, ChoiceButtons } from '../ui/parts.tsx'
import { TimeField } from './time-field.tsx'

const GRID_MS = 500
/** Recorded data is written with a short delay. */
const BEHIND_MS = 3_000
/** A request is sent only when the slider rests, because plans limit requests per second. */
const SETTLE_MS = 120
const EARLIEST_EVERY_MS = 15_000
const SPANS = {
  '15 min': 900_000,
  '1 h': 3_600_000,
  '6 h': 21_600_000,
  '24 h': 86_400_000,
  all: null,
} as const
type Span = keyof typeof SPANS

export interface BookTime {
  /** The moment shown, on the grid of the samples. */
  at: number
  /** The first recorded moment; null if there is none, undefined while unknown. */
  earliest: number | null | undefined
  /** Why it is unknown. */
  problem: string | undefined
  isLive: boolean
  from: number
  to: number
  slider: number
  span: Span
  setSpan: (span: Span) => void
  /** Undefined means to follow the clock. */
  go: (time: number | undefined) => void
}

/**
 * When live, the slider ends at the clock and the book follows it. Moving the slider, stepping or entering a time stops
 * there; a time outside the slider's range moves the range.
 */
export function useBookTime(
  environment: EnvironmentName,
  series: string,
  options: {
    /** The initial moment, and where to go when this changes; undefined means live. */
    start: number | undefined
    /** Called when the slider rests at another moment. */
    onRest: (time: number | undefined) => void
  },
): BookTime {
  const { start } = options
  const [now, setNow] = useState(grid(Date.now() - BEHIND_MS))
  const [wanted, setWanted] = useState(start)
  const [settled, setSettled] = useState(start)
  const [end, setEnd] = useState<number>()
  const [span, setSpan] = useState<Span>('15 min')
  const latest = useRef(options)
  latest.current = options
  const first = useLoad(
    async () => ({ series, time: await earliestOf(environment, series) }),
    [environment, series],
    EARLIEST_EVERY_MS,
  )
  useEffect(() => {
    // Each step of the clock is a request, and nobody should pay for a book that is not visible.
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') setNow(grid(Date.now() - BEHIND_MS))
    }, 1_000)
    return () => clearInterval(timer)
  }, [])
  useEffect(() => {
    const next = start === undefined ? undefined : Math.min(grid(start), now)
    setWanted(next)
    setSettled(next)
    setEnd(next === undefined ? undefined : Math.min(now, next + (SPANS[span] ?? now) / 2))
  }, [start])
  useEffect(() => {
    const timer = setTimeout(() => {
      setSettled(wanted)
      latest.current.onRest(wanted)
    }, SETTLE_MS)
    return () => clearTimeout(timer)
  }, [wanted])

  const earliest = first.value?.series === series ? first.value.time : undefined
  const length = SPANS[span] ?? Math.max(SPANS['15 min'], now - (earliest ?? now))
  const to = Math.min(end ?? now, now)
  const from = Math.min(Math.max(to - length, grid(earliest ?? 0)), to - GRID_MS)
  return {
    at: settled ?? now,
    earliest,
    problem: first.error,
    isLive: wanted === undefined,
    from,
    to,
    slider: wanted ?? now,
    span,
    setSpan: (next) => {
      setSpan(next)
      if (wanted !== undefined) setEnd(Math.min(now, wanted + (SPANS[next] ?? now) / 2))
    },
    go: (time) => {
      const next = time === undefined ? undefined : Math.min(Math.max(grid(time), earliest ?? 0), now)
      setWanted(next)
      if (next === undefined) {
        setEnd(undefined)
        latest.current.onRest(undefined)
      } else if (next < from || next > to) setEnd(Math.min(now, next + length / 2))
      else setEnd(to)
    },
  }
}

const grid = (time: number) => Math.floor(time / GRID_MS) * GRID_MS

async function earliestOf(environment: EnvironmentName, series: string): Promise<number | null> {
  try {
    const { value } = await view<{ data: { timestamp: string }[] }>(
      environment,
      `/v1/snapshots?${series}&order=asc&limit=1`,
    )
    const [row] = value.data
    return row === undefined ? null : Date.parse(row.timestamp)
  } catch (error) {
    // It is not an error if nothing is recorded yet.
    if (error instanceof CallError && error.code === 'data_not_available') return null
    throw error
  }
}

export function BookClock({ time }: { time: BookTime }) {
  const { slider, from, to } = time
  return (
    <div class="clock">
      <div class="row between">
        <div class="row grow">
          <ChoiceButtons
            label="Range of the slider"
            value={time.span}
            options={Object.keys(SPANS) as Span[]}
            onChange={time.setSpan}
          />
          <TimeField
            label="Time of the book (UTC)"
            time={slider}
            earliest={time.earliest ?? undefined}
            onChange={time.go}
          />
        </div>
        <div class="row tight">
          <Button look="small" onClick={() => time.go(slider - GRID_MS)}>
            ‹ 0.5 s
          </Button>
          <Button look="small" onClick={() => time.go(slider + GRID_MS)}>
            0.5 s ›
          </Button>
          <Button
            look={time.isLive ? 'small primary' : 'small'}
            aria-pressed={time.isLive}
            onClick={() => time.go(time.isLive ? slider : undefined)}
          >
            Live
          </Button>
        </div>
      </div>
      <input
        type="range"
        min={from}
        max={to}
        step={GRID_MS}
        value={slider}
        aria-label="Time of the book"
        aria-valuetext={`${new Date(slider).toISOString()}`}
        onInput={(event) => time.go(Number(event.currentTarget.value))}
      />
      <div class="row between muted tiny">
        <span>{shortTime(new Date(from).toISOString())}</span>
        <span>
          {time.earliest ? `recorded since ${dateTime(new Date(time.earliest).toISOString())} UTC` : ''}
        </span>
        <span>{shortTime(new Date(to).toISOString())}</span>
      </div>
    </div>
  )
}
