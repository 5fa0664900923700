import { useMemo, useRef, useState } from 'preact/hooks'
import type { EnvironmentName } from '../../wire.ts'
import { view } from '../api.ts'
import { olderRows } from '../older-rows.ts'
import { useView } from '../use-view.ts'

export interface ChartCandle {
  timestamp: string
  open: number
  high: number
  low: number
  close: number
  volume: number | null
  closed?: boolean
}

export interface ChartFunding {
  timestamp: string
  funding_rate: number
}

export interface GapSpan {
  source: string
  from: string
  to: string
  reason: string
}

interface CandlePage {
  data: ChartCandle[]
  meta: { next_cursor: string | null; coverage: { gaps: GapSpan[] } }
}

interface Older {
  environment: EnvironmentName
  path: string
  /** Starts with the newest row known when the reader went back, because the newest page keeps moving. */
  rows: ChartCandle[]
  gaps: GapSpan[]
  cursor: string | null
}

const EVERY_MS = 5_000
const NO_GAPS: GapSpan[] = []
const NO_ROWS: ChartCandle[] = []

/**
 * The page of the path, refreshed if it is the newest, and older pages as the reader goes back in time. Newest first.
 */
export function useCandles(environment: EnvironmentName, path: string | undefined, isNewest: boolean) {
  const { value: newest, price, error } = useView<CandlePage>(path, isNewest ? EVERY_MS : 0)
  const [older, setOlder] = useState<Older>()
  const busy = useRef(false)
  const known = older?.path === path && older?.environment === environment ? older : undefined

  const joined = useMemo(() => {
    if (newest === undefined) return undefined
    const { gaps } = newest.meta.coverage
    // For the time range of the newest page, its own gaps are the current ones.
    const beginsAt = newest.data.at(-1)?.timestamp ?? ''
    const rest = known && olderRows(newest.data, known.rows, ({ timestamp }) => timestamp)
    return known === undefined || rest === undefined
      ? { rows: newest.data, gaps, past: undefined }
      : {
          rows: newest.data.concat(rest),
          gaps: gaps.concat(known.gaps.filter(({ from }) => from < beginsAt)),
          past: known,
        }
  }, [newest, known])
  const past = joined?.past

  async function loadOlder(): Promise<void> {
    const cursor = past === undefined ? newest?.meta.next_cursor : past.cursor
    if (busy.current || path === undefined || cursor === null || cursor === undefined) return
    busy.current = true
    try {
      const { value } = await view<CandlePage>(environment, `${path}&after=${encodeURIComponent(cursor)}`)
      setOlder({
        environment,
        path,
        rows: (joined?.rows ?? []).concat(value.data),
        gaps: (joined?.gaps ?? []).concat(value.meta.coverage.gaps),
        cursor: value.meta.next_cursor,
      })
    } finally {
      busy.current = false
    }
  }

  return {
    rows: joined?.rows ?? NO_ROWS,
    gaps: joined?.gaps ?? NO_GAPS,
    price,
    loaded: joined !== undefined,
    isPast: past !== undefined,
    problem: error,
    loadOlder,
  }
}
