/**
 * New York wall time by the US rule of 2007: daylight saving time from the second Sunday in March to the first Sunday
 * in November, at 02:00.
 */
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const

function sundayOf(year: number, month: number, nth: number): number {
  const first = Date.UTC(year, month, 1)
  const toSunday = (7 - new Date(first).getUTCDay()) % 7
  return first + (toSunday + 7 * (nth - 1)) * DAY_MS
}

function yearOf(timeMs: number) {
  const year = new Date(timeMs).getUTCFullYear()
  return {
    fromMs: Date.UTC(year, 0, 1),
    toMs: Date.UTC(year + 1, 0, 1),
    summerFromMs: sundayOf(year, 2, 2) + 7 * HOUR_MS,
    summerToMs: sundayOf(year, 10, 1) + 6 * HOUR_MS,
  }
}

/** Cached because every window asks, mostly about the same year as the last one. */
let lastYear = yearOf(0)

/** The offset to add to UTC to get New York wall time. */
export function newYorkOffsetMs(timeMs: number): number {
  if (!(timeMs >= lastYear.fromMs && timeMs < lastYear.toMs)) lastYear = yearOf(timeMs)
  return (timeMs >= lastYear.summerFromMs && timeMs < lastYear.summerToMs ? -4 : -5) * HOUR_MS
}

/** The instant at which New York clocks show this wall time. */
export function fromNewYork(wallMs: number): number {
  const guess = wallMs - newYorkOffsetMs(wallMs + 5 * HOUR_MS)
  return wallMs - newYorkOffsetMs(guess)
}

interface WallTime {
  readonly year: number
  /** 0 to 11. */
  readonly month: number
  readonly monthName: string
  readonly day: number
  readonly hour: number
  readonly minute: number
}

export function newYorkTime(timeMs: number): WallTime {
  const wall = new Date(timeMs + newYorkOffsetMs(timeMs))
  return {
    year: wall.getUTCFullYear(),
    month: wall.getUTCMonth(),
    monthName: MONTHS[wall.getUTCMonth()] ?? '',
    day: wall.getUTCDate(),
    hour: wall.getUTCHours(),
    minute: wall.getUTCMinutes(),
  }
}

export function monthIndex(name: string): number {
  return MONTHS.findIndex((month) => month.toLowerCase().startsWith(name.toLowerCase()))
}

/** 7 PM → `7PM`; with minutes `7:05PM`. */
export function clockText(time: WallTime, alwaysMinutes: boolean): string {
  const hour = time.hour % 12 === 0 ? 12 : time.hour % 12
  const minutes = alwaysMinutes || time.minute !== 0 ? `:${String(time.minute).padStart(2, '0')}` : ''
  return `${hour}${minutes}${time.hour < 12 ? 'AM' : 'PM'}`
}
